"""Summaries of fitted models: a line, a short table, and the same as facts for --json."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.catalogue import entry_of, import_part
from eigenlens.cli.output import TABLE_LINES, format_figure, limited_table, one_line
from eigenlens.tables.figures import align_points, format_rows
from eigenlens.tables.names import axis_names, axis_stem, feature_names
from eigenlens.tables.text_table import count_noun, format_columns, with_error
from eigenlens.tables.values import VarianceTable

Summary = tuple[str, str, dict[str, Any]]


def summarise(model: Any) -> Summary:
    """Return the line, the table and the facts of a fitted model, by the function of its entry in the catalogue."""
    entry = entry_of(model)
    if entry is not None and entry.summary:
        described: Summary = import_part(entry.summary)(model)
        return described
    return classes_summary(model) if hasattr(model, "classes_") else ("", "", {})


def python_call(model: Any) -> str:
    """Return the estimator as Python writes it, on one line."""
    return " ".join(repr(model).split())


def largest_first(weight: Array, most: int = TABLE_LINES) -> Array:
    """Return the columns to show: all in order, or, if they are more than `most`, those of largest weight (d,) first.

    >>> largest_first(np.array([1.0, 3.0, 2.0]), most=2), largest_first(np.array([1.0, 3.0]))
    (array([1, 2, 0]), array([0, 1]))
    """
    d = weight.size
    return np.arange(d) if d <= most else np.argsort(-np.nan_to_num(weight), kind="stable")


def _variances(model: Any, total: float) -> Summary:
    shown = VarianceTable(np.asarray(model.explained_variance_, dtype=np.float64), total, axis_stem(model))
    k, share = shown.variances.size, float(shown.cumulative[-1]) if shown.variances.size else 0.0
    line = f"{count_noun(k, 'component')} hold{'s' * (k == 1)} {share:.1f}% of the variance"
    facts = {"n_components": k, "explained_variance": shown.variances, "explained_variance_ratio": shown.shares / 100.0}
    return line, str(shown), facts


def pca_summary(model: Any) -> Summary:
    """Return the line, the table and the facts of a PCA."""
    line, shown, facts = _variances(model, float(model.total_variance_))
    return f"{line} ({model.solver_.solver}: {model.solver_.reason})", shown, facts | _outcome(model)


def sparse_summary(model: Any) -> Summary:
    """Return the line, the table and the facts of sparse components: which columns each has, and its share."""
    from eigenlens.sparse_pca.tables import component_terms

    shown, shares = model.model_, 100.0 * np.asarray(model.explained_variance_ratio_, dtype=np.float64)
    k, names = len(shares), feature_names(model, shown.mean.size)
    columns = [
        axis_names(model, k), [f"{share:.1f}%" for share in shares], [str(count) for count in shown.counts],
        ["yes" if best else "no" for best in model.optimal_], component_terms(shown, names, MAX_TERMS),
    ]  # fmt: skip
    table = format_columns(["component", "adds", "columns", "best", "made of"], *columns, sides="<>><<")
    line = f"{count_noun(k, 'sparse component')} explain{'s' * (k == 1)} {shares.sum():.1f}% of the variance"
    facts = {"n_components": k, "explained_variance": shown.variances, "components": shown.components}
    return line, table, facts | {"columns": shown.counts, "optimal": model.optimal_}


def genotype_summary(model: Any) -> Summary:
    """Return the line, the table and the facts of components of genotypes: eigenvalues and their Tracy–Widom tests."""
    found, test = model.model_, model.significance_
    k, names = found.values.size, axis_names(model, found.values.size)
    columns = [
        names, [f"{value:.6g}" for value in found.values], [f"{100.0 * v / found.total:.2f}" for v in found.values],
        [format_figure(value, ".4g") for value in test.statistic], test.p_texts,
    ]  # fmt: skip
    table = format_columns(["component", "eigenvalue", "share %", "Tracy–Widom", "p-value"], *columns)
    used, lacking = f"{len(found.variants):,} variants of {len(found.people):,} people", _share_missing(found)
    line = f"{count_noun(k, 'component')} of {used}{lacking}; {test.leading()} significant at 0.01"
    facts = {
        "n_components": k, "eigenvalues": found.values, "explained_variance_ratio": found.values / found.total,
        "tracy_widom": test.statistic, "p_value": test.p_value, "effective_markers": test.markers,
        "variants": len(found.variants), "people": len(found.people), "missing_calls": found.missing,
    }  # fmt: skip
    return line, f"{table}\n{_left_out(model)}".rstrip(), facts | {"left_out": model.left_out_}


def _share_missing(found: Any) -> str:
    share = found.missing / (len(found.variants) * len(found.people))
    how = "over the calls in common" if found.pairwise else "filled with the mean"
    return f" ({share:.2%} of calls missing, {how})" if found.missing else ""


def _left_out(model: Any) -> str:
    counts = [f"{count:,} ({why})" for why, count in model.left_out_.items() if count]
    return f"variants left out: {', '.join(counts)}" if counts else ""


MAX_TERMS = 6
"""The columns of a sparse component that are named in a line."""


def kernel_summary(model: Any) -> Summary:
    """Return the line, the table and the facts of a kernel PCA."""
    shares = np.asarray(model.explained_variance_ratio_, dtype=np.float64)
    total = float(np.sum(model.explained_variance_) / shares.sum()) if shares.sum() else 0.0
    line, shown, facts = _variances(model, total)
    facts |= {"gamma": model.gamma_, "approximation_error": model.approximation_error_}
    return f"{line} in feature space ({model.solver_.solver}: {model.solver_.reason})", shown, facts | _outcome(model)


def ppca_summary(model: Any) -> Summary:
    """Return the line, the table and the facts of a probabilistic PCA."""
    variances = np.asarray(model.explained_variance_, dtype=np.float64)
    total = float(variances.sum() + (model.n_features_in_ - variances.size) * model.noise_variance_)
    line, shown, facts = _variances(model, total)
    line += f", noise {model.noise_variance_:.4g}, log-likelihood {model.loglik_:,.2f}"
    return line, shown, facts | _likelihood(model) | {"noise_variance": model.noise_variance_}


def factor_summary(model: Any) -> Summary:
    """Return the line, the table and the facts of a factor analysis."""
    from eigenlens.latent.tables import factor_errors_if_quick, factor_table, fit_indices

    k, fit, table = model.n_components_, fit_indices(model), factor_table(model)
    line = f"{count_noun(k, 'factor')}, log-likelihood {model.loglik_:,.2f}"
    names = feature_names(model, model.n_features_in_)
    W, own = np.asarray(model.loadings_), np.asarray(model.uniquenesses_)
    order = largest_first(1.0 - table.uniquenesses)
    facts = _likelihood(model) | {"n_components": k, "loadings": W, "uniquenesses": own, "columns": names}
    errors = factor_errors_if_quick(model)
    if errors is not None:
        facts |= {"loadings_errors": errors.loadings, "uniquenesses_errors": errors.uniquenesses}
    spread = None if errors is None or k > MAX_FACTORS_WITH_ERRORS else [*errors.loadings.T, errors.uniquenesses]
    columns = _factor_columns(W[order], own[order], None if spread is None else [each[order] for each in spread])
    lines = [[names[j], *row] for j, row in zip(order, zip(*columns, strict=True), strict=True)]
    lines.insert(0, ["variance %", *(f"{share:.2f}" for share in table.shares), ""])
    shown = limited_table(["loadings", *axis_names(model, k), "uniqueness"], lines, most=TABLE_LINES + 1)
    if fit is not None:
        facts |= {"variance_ratio": table.shares / 100.0, "goodness_of_fit": asdict(fit)}
    return line, shown if fit is None or np.isnan(fit.chi2) else f"{shown}\n\n{fit}", facts


MAX_FACTORS_WITH_ERRORS = 4
"""The largest number of factors whose standard errors fit beside their loadings."""


def _factor_columns(W: Array, own: Array, errors: list[Array] | None) -> list[list[str]]:
    """Return loadings (d, k) and uniquenesses (d,) as columns of text, with their standard errors where known.

    A row of loadings is in the unit of its column of the data, and has three digits of its largest, or more.
    """
    figures = [*zip(*format_rows(W, least=3), strict=True), [format_figure(value, ".3f") for value in own]]
    if errors is None:
        return [align_points(list(column)) for column in figures]
    return [[*map(_with_error, column, spread)] for column, spread in zip(figures, errors, strict=True)]


def _with_error(text: str, error: float) -> str:
    """Return a figure and its standard error, with as many decimals."""
    decimals = len(text.partition(".")[2])
    return f"{text} ± {'–' if np.isnan(error) else format_figure(error, f'.{decimals}f')}"


def mixture_summary(model: Any) -> Summary:
    """Return the line, the table and the facts of a Gaussian mixture."""
    from eigenlens.mixture.tables import component_separation

    weights, means = np.asarray(model.weights_), np.asarray(model.means_)
    names = feature_names(model, model.n_features_in_)
    K, fit = weights.size, f"log-likelihood {model.loglik_:,.2f}, BIC {model.bic():,.2f}"
    line = f"{count_noun(K, 'Gaussian')}, {fit}"
    order = largest_first(component_separation(model), most=MEANS_SHOWN)[:MEANS_SHOWN]
    lines = [
        [f"{i}", f"{w:.4f}", *(format_figure(mean[j], ".5g") for j in order)]
        for i, (w, mean) in enumerate(zip(weights, means, strict=True))
    ]
    shown = limited_table(["component", "weight", *(f"mean of {names[j]}" for j in order)], lines)
    shown += f"\n{means.shape[1] - MEANS_SHOWN:,} more columns differ less" if means.shape[1] > MEANS_SHOWN else ""
    return line, shown, _likelihood(model) | {"weights": weights, "means": means, "columns": names}


def latent_class_summary(model: Any) -> Summary:
    """Return the line, the table and the facts of a mixture of any families."""
    from eigenlens.bayes.latent_classes.tables import class_profile

    found = class_profile(model)
    line = f"{count_noun(len(found.weights), 'component')}, log-likelihood {model.loglik_:,.2f}, BIC {model.bic():,.2f}"
    order = np.sort(largest_first(found.spread, most=PROFILE_SHOWN)[:PROFILE_SHOWN])
    lines = [["weight", *(f"{w:.4f}" for w in found.weights)]]
    lines += [[f"P({found.labels[i]})", *(f"{p:.3f}" for p in found.probabilities[i])] for i in order]
    shown = limited_table(["component", *map(str, range(len(found.weights)))], lines, most=PROFILE_SHOWN + 1)
    left = len(found.labels) - len(order)
    shown += f"\n{left:,} more categories differ less" if left else ""
    families = {str(choice.column): str(choice.family) for choice in model.features_}
    facts = {"weights": found.weights, "families": families, "labels": list(found.labels)}
    facts |= {"probabilities": found.probabilities}
    return line, f"{shown}\n\n{model.features_}", _likelihood(model) | facts


PROFILE_SHOWN = 20
"""The most lines of the profile of latent classes that are shown: those in which components differ most."""

MEANS_SHOWN = 6
"""The most columns whose means are shown: as many as fit beside one another."""


def density_summary(model: Any) -> Summary:
    """Return the line, the table and the facts of a kernel density estimate."""
    h = np.atleast_1d(np.asarray(model.bandwidth_, dtype=np.float64))
    names = feature_names(model, model.n_features_in_)
    spread = np.sqrt(np.diag(h)) if h.ndim == 2 else h
    lines = [[name, f"{each:.5g}"] for name, each in zip(names, spread, strict=True)]
    line = f"{model.n_samples_:,} kernels, {model.kernel}, bandwidth {model.bandwidth}"
    return line, limited_table(["column", "bandwidth"], lines), {"bandwidth": model.bandwidth_, "columns": names}


def classes_summary(model: Any) -> Summary:
    """Summarise any classifier: its classes, the rows of each, and their prior probabilities."""
    classes, prior = [str(each) for each in model.classes_], np.asarray(model.class_prior_)
    counts = getattr(model, "class_count_", None)
    rows = [""] * len(classes) if counts is None else [f"{count:,.6g}" for count in np.asarray(counts)]
    listed = [[name, count, f"{p:.4f}"] for name, count, p in zip(classes, rows, prior, strict=True)]
    facts = {"classes": classes, "prior": prior, "class_count": counts}
    return count_noun(len(classes), "class"), limited_table(["class", "rows", "prior"], listed), facts


def naive_summary(model: Any) -> Summary:
    """Return the line, the table and the facts of a naive Bayes classifier."""
    line, shown, facts = classes_summary(model)
    choices = [(str(each.column), str(each.family), each.reason) for each in model.features_]
    kinds = Counter(family for _, family, _ in choices)
    families = ", ".join(f"{count} {family}" for family, count in kinds.items())
    few = len(choices) <= TABLE_LINES
    table = limited_table(["column", "family", "reason"], choices, sides="<<<") if few else _by_reason(choices)
    named = [dict(zip(("column", "family", "reason"), choice, strict=True)) for choice in choices]
    return f"{line}; columns: {families}", f"{shown}\n\n{table}", facts | {"families": named}


def _by_reason(choices: list[tuple[str, str, str]]) -> str:
    """Return a table of the numbers of columns by family and reason, with the first columns of each."""
    alike: dict[tuple[str, ...], list[tuple[str, str, str]]] = {}
    for column, family, reason in choices:
        alike.setdefault((family, *re.split(r"\d+", reason)), []).append((column, family, reason))
    lines = []
    for same in sorted(alike.values(), key=len, reverse=True):
        first_columns = ", ".join(one_line(column, 20) for column, *_ in same[:3])
        reason = _join_reasons([reason for *_, reason in same])
        lines.append([same[0][1], f"{len(same):,}", first_columns, reason])
    return limited_table(["family", "columns", "such as", "reason"], lines, sides="<><<")


def _join_reasons(reasons: list[str]) -> str:
    """Return reasons that differ by their numbers as one.

    >>> _join_reasons(["whole numbers of 3 values", "whole numbers of 12 values"])
    'whole numbers of 3 to 12 values'
    """
    numbers = [[int(number) for number in re.findall(r"\d+", reason)] for reason in reasons]
    ranges = [(min(each), max(each)) for each in zip(*numbers, strict=True)]
    texts = iter([f"{low} to {high}" if low < high else f"{low}" for low, high in ranges])
    return re.sub(r"\d+", lambda _: next(texts), reasons[0])


def bayes_summary(model: Any) -> Summary:
    """Return the line, the table and the facts of a Bayes classifier."""
    line, shown, facts = classes_summary(model)
    density = python_call(model.density)
    return f"{line}, with one {density} per class", shown, facts | {"density": density}


def confusion_summary(table: Any, note: str = "") -> Summary:
    """Return the accuracy with a note on it, the matrix and the facts of a confusion of true and predicted classes."""
    true, predicted, more = [*table.classes, *table.unknown], list(table.classes), len(table.classes) > TABLE_LINES
    line = with_error(f"accuracy {table.accuracy:.6g}", table.accuracy_error, ".2g") + (note and f" {note}")
    header = ["true \\ predicted", *predicted[:TABLE_LINES], *["…"] * more]
    lines = [
        [name, *(f"{count:,.6g}" for count in counts[:TABLE_LINES]), *[""] * more]
        for name, counts in zip(true, table.counts, strict=True)
    ]
    matrix = {"true": true, "predicted": predicted, "counts": table.counts}
    facts = {"accuracy": table.accuracy, "standard_error": table.accuracy_error, "confusion": matrix}
    facts |= {"note": note} if note else {}
    return line, limited_table(header, lines), facts


def linear_summary(model: Any) -> Summary:
    """Return the line, the table and the facts of a linear discriminant."""
    line, shown, facts = classes_summary(model)
    shares, V = np.asarray(model.explained_variance_ratio_), np.asarray(model.scalings_)
    axes = axis_names(model, V.shape[1])
    names = feature_names(model, model.n_features_in_)
    spread = np.sqrt(model.model_.covariance.variances)
    order = largest_first(np.abs(V * spread[:, np.newaxis]) @ shares)
    lines = [[names[j], *(format_figure(v, ".4g") for v in V[j])] for j in order]
    share = ["share %", *(f"{100.0 * each:.2f}" for each in shares)]
    table = limited_table(["discriminants", *axes], [share, *lines], most=TABLE_LINES + 1)
    about = f"{line}, {count_noun(len(axes), 'discriminant')}{_shrinkage(model)}"
    facts |= {"columns": names, "explained_variance_ratio": shares, "scalings": V, "shrinkage": model.shrinkage_}
    return about, f"{shown}\n\n{table}", facts


def quadratic_summary(model: Any) -> Summary:
    """Return the line, the table and the facts of a quadratic discriminant."""
    line, shown, facts = classes_summary(model)
    return f"{line}, one Gaussian per class{_shrinkage(model)}", shown, facts | {"shrinkage": model.shrinkage_}


def _shrinkage(model: Any) -> str:
    amounts = np.atleast_1d(np.asarray(model.shrinkage_, dtype=np.float64))
    return f", shrinkage {', '.join(f'{each:.3g}' for each in amounts[:TABLE_LINES])}" if amounts.any() else ""


def _outcome(model: Any) -> dict[str, Any]:
    return {"solver": model.solver_.solver, "reason": model.solver_.reason, "converged": model.solver_.converged}


def _likelihood(model: Any) -> dict[str, Any]:
    facts = {"loglik": model.loglik_, "n_iter": model.n_iter_, "converged": model.converged_}
    return {name: value.item() if hasattr(value, "item") else value for name, value in facts.items()}
