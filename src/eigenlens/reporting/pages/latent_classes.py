"""The page of a mixture of any families: sizes, profiles and parameters of latent classes, and of other numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.latent_classes.tables import class_profile
from eigenlens.bayes.naive.class_parameters import gaussian_parameters
from eigenlens.errors import EigenlensError
from eigenlens.mixture import tables as mixture_tables
from eigenlens.mixture.select import select_mixture
from eigenlens.reporting.charts import (
    Chart,
    PageContent,
    component_table,
    facts,
    heat,
    layer,
    marks,
)
from eigenlens.reporting.pages.bayes import family_charts
from eigenlens.reporting.pages.likelihood_path import likelihood_path_chart
from eigenlens.reporting.pages.mixture import responsibility_chart, uncertainty_chart
from eigenlens.reporting.pages.selection_criteria import criteria
from eigenlens.reporting.rows import ShownRows

MAX_PROFILE_LINES, MAX_CELL_TEXTS, MAX_NAMED_COMPONENTS = 60, 400, 20
"""The largest numbers of lines of the profile, of cells with numbers, and of components."""

MAX_TRIED_ENTRIES, MORE_COMPONENTS, TRIAL_STARTS = 40_000, 3, 3
"""The largest number of entries for which other numbers of components are tried, how many more, and their starts."""


def latent_class_page(model: Any, rows: ShownRows) -> PageContent:
    """Return the charts of a fitted MixtureModel, and columns to colour by: components and uncertainty."""
    found = latent_class_charts(model, rows)
    *charts, last = found.charts
    return PageContent([*charts, *_other_sizes(model, rows), last], found.columns)


def latent_class_charts(model: Any, rows: ShownRows) -> PageContent:
    """Return the charts of one mixture, without those of other sizes; the facts about it come last."""
    proba = np.asarray(model.predict_proba(rows.given))
    charts = [*_profile(model), _sizes(model, proba, rows), *_numbers(model, rows)]
    charts += [uncertainty_chart(proba, rows), responsibility_chart(proba), *family_charts(model, rows, "component")]
    components = np.array([f"component {k}" for k in proba.argmax(axis=1)])
    columns = {"component": components, "uncertainty": mixture_tables.uncertainty(proba)}
    path = likelihood_path_chart(np.asarray(model.loglik_path_))
    return PageContent([*charts, *path, _about(model, proba)], columns)


def _about(model: Any, proba: Array) -> Chart:
    doubtful = int(np.count_nonzero(proba.max(axis=1) < 0.9))
    try:
        shown = f"{model.bic():.6g}, {model.aic():.6g}"
    except EigenlensError as error:  # a family of the user's own that does not count its parameters
        shown = f"not known: {error}"
    pairs = [
        ("components", model.n_components_),
        ("log-likelihood", f"{model.loglik_:.6g}"),
        ("BIC, AIC", shown),
        ("steps", f"{model.n_iter_}, {'converged' if model.converged_ else 'not converged'}"),
        ("rows without a sure component", f"{doubtful:,} of {len(proba):,} have none above 90%"),
    ]
    return facts("The model", pairs)


def _sizes(model: Any, proba: Array, rows: ShownRows) -> Chart:
    """Return the weights of the components, beside the shares of rows of which each is the most likely one."""
    K = min(len(model.weights_), MAX_NAMED_COMPONENTS)
    names = [f"component {k}" for k in range(K)]
    counts = np.bincount(proba.argmax(axis=1), rows.weight, minlength=proba.shape[1])
    layers = [
        layer("bar", "weight in the model", x=names, y=100.0 * np.asarray(model.weights_)[:K]),
        layer("dot", "rows most likely in it", x=names, y=100.0 * counts[:K] / counts.sum()),
    ]
    about = "The more the two differ, the more rows lie between components."
    about += (
        f" The first {MAX_NAMED_COMPONENTS} of {len(model.weights_)} components."
        if len(model.weights_) > MAX_NAMED_COMPONENTS
        else ""
    )
    return marks("Sizes of the components", *layers, about=about, y="%")


def _profile(model: Any) -> list[Chart]:
    """Return the probabilities of the categories of each column in each component as shades."""
    found = class_profile(model)
    if not found.labels:
        return []
    kept = np.sort(np.argsort(-found.spread, kind="stable")[:MAX_PROFILE_LINES])
    K = min(len(found.weights), MAX_NAMED_COMPONENTS)
    values = 100.0 * found.probabilities[kept, :K]
    names = [f"{k} ({w:.0%})" for k, w in enumerate(found.weights[:K])]
    texts = [f"{value:.0f}" for value in values.ravel()] if values.size <= MAX_CELL_TEXTS else None
    about = "The probability of each category within each component, the second alone of two; of numbers, that they "
    about += "are above the mean of all components; of counts, their shares."
    about += f" The {len(kept)} of {len(found.labels)} lines that differ most." if len(kept) < len(found.labels) else ""
    labels = [found.labels[i] for i in kept]
    options: dict[str, Any] = {"what": "%", "about": about, "texts": texts, "x": "component", "whole": 100.0}
    return [heat("Profile of the components", values, labels, names, **options)]


def _numbers(model: Any, rows: ShownRows) -> list[Chart]:
    """Return the means and standard deviations of Gaussian columns in each component."""
    means, variances = gaussian_parameters(model.model_)
    gaussian = np.flatnonzero(~np.isnan(means).all(axis=0))
    if not gaussian.size:
        return []
    labels, deviations = [rows.labels[j] for j in gaussian], np.sqrt(variances[:, gaussian])
    title = "Numbers: means and standard deviations"
    return [component_table(title, np.asarray(model.weights_), labels, means[:, gaussian], deviations)]


def _other_sizes(model: Any, rows: ShownRows) -> list[Chart]:
    """Return BIC, ICL and AIC for other numbers of components if fitting them is quick, else how to get them."""
    title = "How many components"
    if rows.sampled or rows.X.size * model.n_components_ > 4 * MAX_TRIED_ENTRIES or rows.X.size > MAX_TRIED_ENTRIES:
        words = (
            f"Mixtures of other sizes are not fitted here: {rows.total:,} rows of {len(rows.names):,} columns are many."
            " eigenlens.select_mixture(X, features=…) compares them, and report() accepts its result."
        )
        return [facts(title, paragraphs=[words])]
    set_here = {"n_components", "verbose", "random_state", "n_init"}
    options = {name: value for name, value in model.get_params(deep=False).items() if name not in set_here}
    seed = model.random_state if isinstance(model.random_state, int | np.integer) else 0
    sizes = range(1, min(max(model.n_components_ + MORE_COMPONENTS, 5), len(rows.X)) + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the table reports the warnings of each fit
        try:
            found = select_mixture(
                rows.given, sizes, random_state=seed, sample_weight=rows.weight, n_init=TRIAL_STARTS, **options
            )
            own = {"bic": model.bic(), "aic": model.aic()}
        except EigenlensError as error:
            return [facts(title, paragraphs=[f"Mixtures of other sizes could not be fitted: {error}"])]
    words = f"Each from {TRIAL_STARTS} starts; the model itself may have had more."
    return criteria(found, own=(model.n_components_, own), words=words)
