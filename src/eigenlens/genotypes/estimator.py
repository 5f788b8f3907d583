"""`GenotypePCA`: the scikit-learn estimator for principal components of genotypes."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenlens import checks
from eigenlens.arrays import Like
from eigenlens.data.coerce import rereadable
from eigenlens.data.genotypes.base import Genotypes
from eigenlens.data.genotypes.genotype_files import genotypes_of_source, is_genotype_path, open_genotypes, pack_rows
from eigenlens.data.source import progress_callback
from eigenlens.errors import DataError, OptionError
from eigenlens.estimator.base import ProjectionEstimator, forward, model_view
from eigenlens.estimator.rows import validate_rows
from eigenlens.genotypes import storage
from eigenlens.genotypes.fit import fit_genotypes
from eigenlens.genotypes.model import GenotypeComponents
from eigenlens.genotypes.options import GenotypeOptions, warn_of_fit, warn_of_match
from eigenlens.genotypes.plink_output import write_plink
from eigenlens.genotypes.projection import Projection, project_people


@dataclass(eq=False, repr=False)
class GenotypePCA(ProjectionEstimator):
    """Principal components of genotypes: eigenvectors of the genetic relationship matrix, as PLINK 2 computes them.

    Copies x of an allele of frequency p are standardised, z = (x − 2p) / √(2p(1 − p)), p being that of the calls. The
    relationship of two people is the mean of their products z z over the variants that both have,

        G_ik = Σ_j z_ij z_kj / m_ik,   G u = λ u,

    and a person's score is √λ u. Calls are read from .bed files in two bits by blocks of variants, standardised by a
    compiled kernel, and multiplied in float32, the sums in float64: the printed digits are those of `plink2 --pca`.

    Parameters:
        n_components: the number k of components.
        missing: "pairwise" for the variants that two people have in common, as PLINK 2, or "mean" to fill a missing
            call with the mean of its variant.
        chromosomes: "autosomes" for all but X, Y and MT, None for all, or a list such as [1, 2, "X"].
        solver: "gram" for the relationship matrix (n, n), "lanczos" for products by passes, which needs complete calls
            or missing="mean", or "auto".
        verbose: True for a progress bar, or a callable (done, total, text).

    Attributes:
        eigenvalues_: (k,) λ. eigenvectors_: (n, k) u. scores_: (n, k) √λ u.
        explained_variance_: (k,) λ / (n − 1). explained_variance_ratio_: (k,) λ over the trace of G.
        components_: (k, m) v, the weights of the standardised variants: a score is z vᵀ / √m.
        frequency_: (m,) p. variants_, people_: the m variants that were used, and the n people.
        significance_: the Tracy–Widom test of each component.
        left_out_: how many variants were not used, by reason.
        n_components_, n_samples_, n_features_in_: k, n, and the variants of X. solver_: how it was solved.
        model_: the frozen `GenotypeComponents`.

    X is the path of a .bed or .pgen file, a pattern or a list of paths (people of the same variants), `scan` of a .bed
    file, or rows (n, m) of 0, 1, 2 and NaN. Linked variants should be thinned before (`plink2 --indep-pairwise`).

    Example:
        >>> rng = np.random.default_rng(0)
        >>> ancestry = np.repeat([0.2, 0.8], 20)[:, None]
        >>> X = rng.binomial(2, np.where(rng.random(300) < 0.5, ancestry, 1.0 - ancestry)).astype(float)
        >>> model = GenotypePCA(2).fit(X)
        >>> bool(model.significance_.p_value[0] < 0.01), model.significance_.leading()
        (True, 1)
    """

    n_components: int = 10
    _: KW_ONLY
    missing: str = "pairwise"
    chromosomes: Any = "autosomes"
    solver: str = "auto"
    verbose: Any = False

    _storage = storage
    _takes_missing = True
    _makes_passes = False  # of blocks of rows, which a checkpoint could record: calls are read by variants

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the components of people and their calls; y is ignored, and weights are an error."""
        if sample_weight is not None:
            what = "is given, and a relationship matrix has no weights"
            raise OptionError(what, argument="sample_weight", fix="leave it out, or choose people with plink2 --keep")
        options = GenotypeOptions.of(self)
        data = self._genotypes(X, reset=True)
        with progress_callback(self.verbose) as progress:
            self._model, alleles, spectrum = fit_genotypes(data, options, progress)
        self._rows_like = Like(np.empty(0), np.dtype(np.float64))
        self.n_features_in_, self.solver_ = len(data.variants), spectrum.outcome
        others = len(data.variants) - len(alleles.index) - alleles.monomorphic - alleles.empty
        self.left_out_ = {"other chromosomes": others, "one allele": alleles.monomorphic, "no call": alleles.empty}
        warn_of_fit(self)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the components, and return the scores (n, k) of the people of the fit."""
        return self.fit(rereadable(X), y, sample_weight).scores_

    def transform(self, X: Any) -> Any:
        """Return the scores (n, k) of people, of whom those of the fit have their own; shrinkage is corrected."""
        found = self.project(X)
        warn_of_match(found.match)
        return found.scores

    def project(self, X: Any, *, correct: bool = True) -> Projection:
        """Return new people on the axes of the model, and which variants were matched; see `Projection`.

        Files are matched by the names and alleles of variants. correct: whether the shrinkage of projections is
        corrected, so that new people lie where they would have been in the fit.
        """
        check_is_fitted(self)
        with progress_callback(self.verbose) as progress:
            data = self._genotypes(X)
            return project_people(self.model_, data, checks.boolean("correct", correct), progress)

    def write_plink(self, prefix: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write prefix.eigenvec, .eigenval and .eigenvec.var as `plink2 --pca` does, and return their paths."""
        check_is_fitted(self)
        return write_plink(self.model_, prefix)

    def _genotypes(self, X: Any, *, reset: bool = False) -> Genotypes:
        """Return genotypes of any kind; columns of rows must be those of the fit, unless `reset`."""
        if isinstance(X, Genotypes):
            return X
        is_path = is_genotype_path(X) or isinstance(X, str | os.PathLike)
        found = _open_path(X) if is_path else genotypes_of_source(X)
        if found is None:
            return pack_rows(validate_rows(self, X, reset=reset))
        if reset and hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_
        return found

    # ---- learned attributes: views of the model ---------------------------------------------------------

    @property
    def model_(self) -> GenotypeComponents:
        """The frozen model."""
        check_is_fitted(self)
        return self._model

    components_ = model_view("components", "The weights (k, m) of the standardised variants.")
    eigenvalues_ = model_view("values", "The eigenvalues (k,) of the relationship matrix.")
    eigenvectors_ = model_view("vectors", "The eigenvectors (n, k) of the relationship matrix, of unit length.")
    scores_ = model_view("scores", "The scores (n, k) of the people of the fit.")
    frequency_ = model_view("frequency", "The frequencies (m,) of the counted alleles.")
    variants_ = forward("model_.variants", "The m variants that were used.")
    people_ = forward("model_.people", "The n people of the fit.")
    significance_ = forward("model_.significance", "The Tracy–Widom test of each component.")

    @property
    def explained_variance_(self) -> Any:
        """The variances (k,) of the scores, with the divisor n − 1."""
        return self._like(self.model_.values / (self.n_samples_ - 1.0))

    @property
    def explained_variance_ratio_(self) -> Any:
        """The shares (k,) of the trace of the relationship matrix."""
        return self._like(self.model_.values / self.model_.total)

    @property
    def n_components_(self) -> int:
        """The number k of components."""
        return int(self.model_.values.size)

    @property
    def n_samples_(self) -> int:
        """The number n of people of the fit."""
        return len(self.model_.people)


def _open_path(X: Any) -> Genotypes:
    try:
        return open_genotypes(X)
    except (DataError, OptionError) as error:
        raise error.replace(within="X") from error
