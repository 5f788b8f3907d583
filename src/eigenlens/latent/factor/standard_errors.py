"""Standard errors of loadings, uniquenesses and correlations of factors, by the delta method.

The parameters are Λ, Φ and psi of columns over their standard deviations s, S = Λ Φ Λᵀ + Psi. Their covariance matrix
follows from the information and from the equations that the rotation makes Λ and Φ satisfy; everything reported is a
smooth function of them. The rotation is found from loadings over standard deviations √diag S, which are estimates too,
and so are those by which columns are standardised: the derivatives contain both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array, read_only
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.errors import DataError, OptionError
from eigenlens.latent.factor.information import complex_step_jacobian
from eigenlens.latent.factor.parameters import Equations, Estimates, FactorParameters
from eigenlens.rotation import ROTATION_ALIASES
from eigenlens.rotation.equations import EQUATIONS, RotationEquations
from eigenlens.tables.text_table import titled_table


@dataclass(frozen=True, eq=False)
class FactorErrors:
    """Standard errors of the estimates of a factor analysis; it prints as a table.

    Attributes:
        loadings: (d, k) of `loadings_`. noise_variance: (d,) of `noise_variance_`. uniquenesses: (d,) of
            `uniquenesses_`, and of `communalities_`.
        factor_correlations: (k, k) of `factor_correlations_`; 0 unless the rotation is oblique.
        fixed: the columns whose uniqueness is at its floor (Heywood cases). They have no standard error (NaN), and the
            others are those of a model in which these uniquenesses are known.
        names: (d,) of the columns. factors: (k,) names of the factors.
    """

    loadings: Array
    noise_variance: Array
    uniquenesses: Array
    factor_correlations: Array
    fixed: tuple[int, ...]
    names: tuple[str, ...]
    factors: tuple[str, ...]

    def __post_init__(self) -> None:
        read_only(self, "loadings", "noise_variance", "uniquenesses", "factor_correlations")

    def __str__(self) -> str:
        columns = [*self.loadings.T, self.uniquenesses]
        cells = [[f"{value:.4f}" for value in column] for column in columns]
        title = "Standard errors of loadings and uniquenesses"
        shown = titled_table(title, ("column", *self.factors, "uniqueness"), self.names, *cells)
        if not self.factor_correlations.any():
            return shown
        cells = [[f"{value:.4f}" for value in column] for column in self.factor_correlations.T]
        title = "Standard errors of the factors' correlations"
        return f"{shown}\n\n{titled_table(title, ('', *self.factors), self.factors, *cells)}"

    __repr__ = __str__


class Unrotated(NamedTuple):
    """Loadings without a rotation: Aᵀ Psi⁻¹ A is diagonal by maximum likelihood, AᵀA by least squares."""

    least_squares: bool
    oblique: bool = False
    first: None = None
    step: None = None

    def residuals(self, A: Array, Phi: Array, psi: Array) -> Array:
        """Return the entries below the diagonal, which are 0."""
        weighted = A if self.least_squares else A / psi[:, None]
        return np.asarray((A.T @ weighted)[np.tril_indices(A.shape[1], -1)])


def factor_equations(
    rotation: Any, k: int, options: Mapping[str, Any], *, least_squares: bool
) -> RotationEquations | Unrotated:
    """Return the equations that loadings of this rotation satisfy; a rotation for which none are known is an error."""
    if rotation is None or k < 2:
        return Unrotated(least_squares)
    name = ROTATION_ALIASES.get(rotation, rotation) if isinstance(rotation, str) else ""
    if name not in EQUATIONS:
        what = "has no standard errors: it is not known which equations its loadings satisfy"
        fix = "use {rotation}, or fit resampled rows and take the standard deviations of their loadings"
        raise OptionError(what, argument="rotation", value=rotation, fix=fix, settings={"rotation": "varimax"})
    return EQUATIONS[name](k, **options)


@dataclass(frozen=True, eq=False)
class ReportedFactors:
    """How the reported values follow from the parameters.

    Attributes:
        step: from the loadings that satisfy the equations to V (k, k); None if those are the reported ones.
        V: (k, k) its value, in the order and with the signs that are reported.
        standardize: whether loadings and noise are reported for columns of unit variance.
    """

    step: Callable[[Array], Array] | None
    V: Array
    standardize: bool

    def __call__(self, found: Estimates) -> Array:
        """Return loadings (d k), noise (d), uniquenesses (d) and correlations (k k) as reported, in one vector."""
        standard = found.standardized()
        if self.step is not None:
            order = np.round(np.linalg.solve(self.step(standard.loadings.real), self.V))
            V = self.step(standard.loadings) @ order
            found, standard = found.rotated(V), standard.rotated(V)
        shown = standard if self.standardize else found
        return np.concatenate([shown.loadings.ravel(), shown.noise, standard.noise, shown.correlations.ravel()])


def factor_errors(
    model: LinearGaussian,
    T: Array,
    equations: RotationEquations | Unrotated,
    spread: Callable[[FactorParameters, Array, Equations], Array | None],
    fixed: Array,
    standardize: bool,
) -> tuple[Array, Array, Array, Array]:
    """Return standard errors of loadings (d, k), noise (d,), uniquenesses (d,) and correlations of factors (k, k).

    Args:
        T: (k, k) the rotation matrix of the reported loadings.
        spread: the covariance matrix of parameters, from W = Λ Tᵀ and the equations that they satisfy; None if these do
            not determine them.
        fixed: (d,) which uniquenesses are at their floor. standardize: as in `ReportedFactors`.
    """
    deviations = np.sqrt((model.loadings**2).sum(axis=1) + model.noise)
    A = model.loadings / deviations[:, None]
    first = T if equations.first is None else equations.first(A)
    at = Estimates(np.linalg.solve(first, A.T).T, first.T @ first, model.noise / deviations**2)
    parameters = FactorParameters(at, equations.oblique, fixed)
    covariance = spread(parameters, first, equations.residuals)
    if covariance is None:
        d, k = A.shape
        what = f"have no standard errors: the rows do not determine {k} x {d} of them, and others fit equally well"
        fix = "use a smaller n_components, or leave out repeated columns"
        raise DataError(what, argument="loadings_", fix=fix)
    reported = ReportedFactors(equations.step, np.linalg.solve(first, T), standardize)
    slopes = complex_step_jacobian(lambda vector: reported(parameters.unpack(vector)), parameters.vector)
    variances = np.maximum(np.einsum("ij,ij->i", slopes @ covariance, slopes), 0.0)
    d, k = A.shape
    loadings, noise, uniquenesses, correlations = np.split(np.sqrt(variances), np.cumsum([d * k, d, d]))
    noise[fixed] = uniquenesses[fixed] = np.nan
    scale = np.ones(d) if standardize else deviations
    return loadings.reshape(d, k) * scale[:, None], noise * scale**2, uniquenesses, correlations.reshape(k, k)
