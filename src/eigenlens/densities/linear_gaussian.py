"""The linear-Gaussian model x = W z + mu + e: one frozen value, several algorithms.

The observed entries of a row are x_o = W_o z + mu_o + e_o, so its posterior needs M = I + W_oᵀ Psi_o⁻¹ W_o, which
depends on which entries are observed and not on their values. Rows that miss the same entries share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, overload

import numpy as np
import scipy.linalg

from eigenlens import checks
from eigenlens.arrays import Array, is_plain, read_only, slices
from eigenlens.densities.base import as_rows, check_columns, check_scale, known_values, other_columns, reject_infinite
from eigenlens.densities.base import observed_patterns as patterns_of
from eigenlens.errors import DataError, OptionError
from eigenlens.laws import MAX_ROOT, Laws
from eigenlens.linalg.packed import unpack_symmetric
from eigenlens.native.incomplete_rows import Frame, latent_compiled, latent_rows

KERNEL_FLOATS = (np.float32, np.float64)
"""The types that kernels read."""


MIN_NOISE_RATIO = 0.01
"""Below this ratio of the smallest to the largest noise variance the Woodbury identity loses more than two digits."""


@dataclass(frozen=True, eq=False)
class LinearGaussian:
    """The density x ~ N(mu, W Wᵀ + Psi) with few latent dimensions (Tipping and Bishop 1999, eq. 2).

    Attributes:
        mean: mu (d,).
        loadings: W (d, k).
        noise: variances Psi, a positive scalar or (d,).

    NaN in a row is a missing value, everywhere: results are exact for the observed entries. A row without any has log
    density 0 and the posterior N(0, I), the prior.

    Every method costs O(dk) per row by the Woodbury identity, and O(dk²) per pattern of missing values; no d×d matrix
    is made except by `covariance` and `precision`.

    >>> model = LinearGaussian(mean=np.zeros(2), loadings=np.array([[1.0], [1.0]]), noise=1.0)
    >>> model.covariance()
    array([[2., 1.], [1., 2.]])
    >>> model.log_density(np.array([[0.0, 0.0], [0.0, np.nan]])).round(6)
    array([-2.387183, -1.265512])
    >>> model.impute(np.array([[4.0, np.nan]]), return_std=True)
    (array([[4., 2.]]), array([[0. , 1.2247]]))
    """

    laws: ClassVar[Laws] = {
        "mean": "(d) of a finite square",
        "loadings": "(d, k) of a finite square",
        "noise": "() between 1e-300 and 1e300 | (d) between 1e-300 and 1e300",
    }

    mean: Array
    loadings: Array
    noise: float | Array

    def __post_init__(self) -> None:
        for name in ("mean", "loadings", "noise"):
            object.__setattr__(self, name, checks.finite(name, getattr(self, name)))
        d, noise = self.mean.size, np.asarray(self.noise)
        if self.mean.ndim != 1 or self.loadings.ndim != 2 or len(self.loadings) != d or noise.shape not in ((), (d,)):
            shapes = f"mean, loadings and noise have the shapes {self.mean.shape}, {self.loadings.shape}, {noise.shape}"
            raise OptionError(shapes, fix="give them as (d,), (d, k) and one variance, or (d,) of them")
        wide = next((name for name in ("mean", "loadings") if np.any(np.abs(getattr(self, name)) >= MAX_ROOT)), None)
        if wide is not None:
            raise OptionError(f"has entries from {MAX_ROOT:.3g} on, whose squares overflow", argument=wide)
        if not np.all(noise > 0.0):
            raise OptionError(f"has {noise.min():g}, and variances are above 0", argument="noise")
        object.__setattr__(self, "noise", noise if noise.ndim else float(noise))
        read_only(self, "mean", "loadings", *(["noise"] if noise.ndim else []))

    # ---- densities and posteriors -----------------------------------------------------------------------

    def log_density(self, X: Any) -> Array:
        """Return log N(x_o | mu_o, (W Wᵀ + Psi)_oo) (n,) for each row of X (n, d); o are its observed entries.

        The distance is min over z of |x − mu − W z|²_Psi⁻¹ + |z|², in which an error of z counts squared; the textbook
        difference of two quadratic forms loses digits where the noise is small.
        """
        X = self._rows(X)
        found = np.empty(len(X))
        if self._by_kernel(X):
            latent_rows(X, self._frame, log_density=found)
        else:
            log_psi = np.log(self._psi) + np.log(2.0 * np.pi)
            with np.errstate(invalid="ignore"):
                for rows in self._pieces(X):
                    log_det = rows.patterns @ log_psi - 2.0 * np.log(np.einsum("uii->ui", rows.root)).sum(axis=1)
                    found[rows.part] = -0.5 * (log_det[rows.which] + self._distance(rows))
        found[np.isnan(found)] = -np.inf  # the distance of an infinite entry is a difference of infinities
        return found

    def posterior(self, X: Any) -> tuple[Array, Array]:
        """Return E[z | x_o] (n, k), and cov[z | x_o]: (k, k) for all rows, or (n, k, k) if X has missing values.

        M⁻¹ W_oᵀ Psi_o⁻¹ (x_o − mu_o) and M⁻¹, with M = I + W_oᵀ Psi_o⁻¹ W_o; for noise sigma² these are
        (WᵀW + sigma² I)⁻¹ Wᵀ(x − mu) and sigma² (WᵀW + sigma² I)⁻¹ (Tipping and Bishop 1999, eq. 6).
        """
        X, k = self._rows(X), self.loadings.shape[1]
        latent, complete = np.empty((len(X), k)), True
        if self._by_kernel(X):
            packed = np.empty((len(X), k * (k + 1) // 2))
            latent_rows(X, self._frame, z=latent, C=packed)
            return latent, unpack_symmetric(packed.T, k)
        covariance = np.zeros((0, k, k))
        for rows in self._pieces(X):
            latent[rows.part] = rows.latent
            if complete and not rows.complete:  # the first missing value: from here on every row has its own
                complete, covariance = False, np.tile(self._root.T @ self._root, (len(X), 1, 1))
            if not rows.complete:
                covariance[rows.part] = (np.swapaxes(rows.root, 1, 2) @ rows.root)[rows.which]
        return latent, np.asarray(self._root.T @ self._root) if complete else covariance

    @property
    def latent_map(self) -> Array:
        """The matrix A (d, k) with E[z | x] = (x − mu) A for a complete row: Psi⁻¹ W M⁻¹."""
        return np.asarray((self.loadings / self._psi[:, None]) @ (self._root.T @ self._root))

    @cached_property
    def log_determinant(self) -> float:
        """The logarithm of |W Wᵀ + Psi|, by the matrix determinant lemma."""
        return float(np.sum(np.log(self._psi)) - 2.0 * np.sum(np.log(np.diag(self._root))))

    # ---- rows from latent values ------------------------------------------------------------------------

    def reconstruct(self, Z: Array) -> Array:
        """Return the mean rows W z + mu (n, d) of latent values Z (n, k); for z = E[z | x] shrunk towards mu."""
        return np.asarray(self._latent_values(Z) @ self.loadings.T + self.mean)

    def reconstruct_orthogonal(self, Z: Array) -> Array:
        """Return the projections (n, d) of the complete rows whose posterior means are Z (n, k).

        W G⁻¹ (I + G) z + mu with G = Wᵀ Psi⁻¹ W: orthogonal for one noise variance, and what `reconstruct` tends to as
        the noise tends to 0 (Tipping and Bishop 1999, section 3.3).
        """
        lam, Q = np.linalg.eigh(self.loadings.T @ (self.loadings / self._psi[:, None]))
        alive = lam > 1e-14 * lam.max(initial=0.0)  # a latent dimension without loadings does not affect x
        stretch = np.where(alive, 1.0 + 1.0 / np.where(alive, lam, 1.0), 0.0)
        return self.reconstruct((self._latent_values(Z) @ Q * stretch) @ Q.T)

    @overload
    def impute(self, X: Any, return_std: Literal[False] = False) -> Array: ...

    @overload
    def impute(self, X: Any, return_std: Literal[True]) -> tuple[Array, Array]: ...

    @overload
    def impute(self, X: Any, return_std: bool) -> Array | tuple[Array, Array]: ...

    def impute(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Return X (n, d) with NaN replaced by its conditional mean given the observed entries of the row.

        E[x_m | x_o] = mu_m + W_m E[z | x_o]. With return_std, also the standard deviations (n, d) of x_m | x_o, whose
        squares are psi_m + w_mᵀ cov[z | x_o] w_m; 0 for observed entries.
        """
        X, return_std = reject_infinite(self._rows(X)), checks.boolean("return_std", return_std)
        if self._by_kernel(X):
            wanted = {"filled": np.empty(X.shape, X.dtype), **({"deviation": np.empty(X.shape)} if return_std else {})}
            latent_rows(X, self._frame, **wanted)
            return (wanted["filled"], wanted["deviation"]) if return_std else wanted["filled"]
        missing = np.isnan(X)
        filled = np.where(missing, 0.0, X) if missing.any() else X
        deviation = np.zeros(X.shape if return_std else (0, 0))
        for rows in self._pieces(X) if missing.any() else ():
            here = missing[rows.part]
            filled[rows.part][here] = self.reconstruct(rows.latent)[here]
            if return_std:
                spread = np.sqrt(_conditional_variances(rows.root, self.loadings, self._psi))
                deviation[rows.part][here] = spread[rows.which][here]
        return (filled, deviation) if return_std else filled

    def sample(self, n: int, rng: Any = None) -> Array:
        """Draw n rows (n, d)."""
        return self.sample_latent(n, rng)[0]

    def sample_latent(self, n: int, rng: Any = None) -> tuple[Array, Array]:
        """Draw latent values z (n, k), and a row W z + mu + e (n, d) for each; return the rows and z."""
        rng = checks.generator(rng, "rng")
        n = checks.sample_size("n", n, sum(self.loadings.shape), 0)
        z = rng.standard_normal((n, self.loadings.shape[1]))
        e = rng.standard_normal((n, self.mean.size))
        return np.asarray(self.mean + z @ self.loadings.T + e * np.sqrt(self._psi)), z

    def _latent_values(self, Z: Any) -> Array:
        """Return latent values (n, k) as an array, once they are numbers of that shape."""
        given = checks.numbers("Z", Z)
        if given.ndim != 2 or given.shape[1] != self.loadings.shape[1]:
            what = f"has shape {given.shape}, and the model has {self.loadings.shape[1]} latent dimensions"
            raise DataError(what, argument="Z", fix=f"give it as (n, {self.loadings.shape[1]})")
        return given

    # ---- other columns ----------------------------------------------------------------------------------

    def scaled(self, scale: Array) -> LinearGaussian:
        """Return the model of the columns times `scale` (d,), which have a noise variance each; z is the same.

        >>> LinearGaussian(np.zeros(2), np.ones((2, 1)), 1.0).scaled(np.array([1.0, 2.0])).covariance()
        array([[2., 2.], [2., 8.]])
        """
        factors = check_scale(scale, self.mean.size)
        return LinearGaussian(self.mean * factors, self.loadings * factors[:, None], self.noise * factors**2)

    def marginal(self, columns: Sequence[int] | Array) -> LinearGaussian:
        """Return the model of these columns, in this order: their rows of W, mu and Psi.

        >>> LinearGaussian(np.arange(3.0), np.ones((3, 1)), 1.0).marginal([2, 0]).mean
        array([2., 0.])
        """
        chosen = check_columns(columns, self.mean.size)
        noise = self.noise if np.ndim(self.noise) == 0 else self._psi[chosen]
        return LinearGaussian(self.mean[chosen], self.loadings[chosen], noise)

    def condition(self, columns: Sequence[int] | Array, values: Array) -> LinearGaussian:
        """Return the model of the other columns given these columns' values: z | x_o ~ N(m, C) in place of N(0, I).

        mu_m + W_m m and W_m C^½, with Psi_m unchanged; NaN among the values is ignored. Cost O(dk²).

        >>> model = LinearGaussian(np.zeros(2), np.ones((2, 1)), 1.0)
        >>> given = model.condition([0], np.array([4.0]))
        >>> given.mean, given.covariance()
        (array([2.]), array([[1.5]]))
        """
        rest, (seen, given) = other_columns(columns, self.mean.size), known_values(columns, values, self.mean.size)
        row = np.full((1, self.mean.size), np.nan)
        row[0, seen] = given
        (known,) = self._pieces(row)
        other = self.marginal(rest)
        mean, W = other.mean + other.loadings @ known.latent[0], other.loadings @ known.root[0].T
        return LinearGaussian(mean, W, other.noise)

    # ---- d×d matrices -----------------------------------------------------------------------------------

    def covariance(self) -> Array:
        """Return W Wᵀ + Psi (d, d)."""
        C = np.asarray(self.loadings @ self.loadings.T)
        C[np.diag_indices_from(C)] += self._psi
        return C

    def precision(self) -> Array:
        """Return (W Wᵀ + Psi)⁻¹ (d, d), by the Woodbury identity, or without subtraction where noises differ much."""
        if self.loadings.size and self._psi.min() < MIN_NOISE_RATIO * self._psi.max():
            return _precision_without_subtraction(self.loadings, self._psi)
        half = self._root @ (self.loadings / self._psi[:, None]).T
        P = np.asarray(-(half.T @ half))
        P[np.diag_indices_from(P)] += 1.0 / self._psi
        return P

    # ---- parts ------------------------------------------------------------------------------------------

    @cached_property
    def _psi(self) -> Array:
        return np.broadcast_to(np.asarray(self.noise, dtype=np.float64), self.mean.shape)

    @cached_property
    def _root(self) -> Array:
        """The inverse L⁻¹ (k, k) of the lower Cholesky factor of M = I + Wᵀ Psi⁻¹ W; so M⁻¹ = L⁻ᵀ L⁻¹."""
        return np.asarray(_posterior_roots(np.ones((1, self.mean.size), dtype=bool), self.loadings, self._psi)[0])

    @cached_property
    def _frame(self) -> Frame:
        return Frame.of(self.mean, self.loadings, self._psi)

    def _rows(self, X: Any) -> Array:
        """Return X (n, d) as floats, and float32 unchanged."""
        floats = is_plain(X) and X.ndim == 2 and X.dtype in KERNEL_FLOATS
        return X if floats and X.shape[1] == self.mean.size else as_rows(X, self.mean.size)

    def _by_kernel(self, X: Array) -> bool:
        """Return whether to take rows one by one: there are kernels, and patterns of missing values hardly repeat."""
        return latent_compiled(self.loadings.shape[1]) and X.dtype in KERNEL_FLOATS and has_scattered_patterns(X)

    def _pieces(self, X: Array) -> Iterator[ObservedRows]:
        return _posterior_pieces(X, self.mean, self.loadings, self._psi, self._root)

    def _distance(self, rows: ObservedRows) -> Array:
        """Return squared Mahalanobis distances (n,) of the observed entries."""
        error = rows.rest - rows.latent @ self.loadings.T
        if not rows.complete:
            error *= rows.patterns[rows.which]
        noise = np.einsum("ij,ij->i", error / self._psi, error)
        return np.asarray(noise + np.einsum("ij,ij->i", rows.latent, rows.latent))


MAX_PIECE_ENTRIES = 1 << 21
"""Entries of the largest array for a piece of rows, or for a table of columns: 16 MB."""


PATTERN_SAMPLE, MAX_PATTERN_SHARE = 1024, 1.0 / 16.0
"""The rows that show whether patterns repeat; with at most this many patterns per row, grouping rows saves time."""


class ObservedRows(NamedTuple):
    """Some rows and their latent posteriors; u is the number of different patterns among them.

    Attributes:
        part: which rows. rest: (n, d) x − mu, 0 where x is missing.
        latent: (n, k) E[z | x_o].
        patterns: (u, d) which entries are observed. which: (n,) the pattern of each row.
        root: (u, k, k) L⁻¹ with L the lower Cholesky factor of M; cov[z | x_o] = L⁻ᵀL⁻¹.
    """

    part: slice
    rest: Array
    latent: Array
    patterns: Array
    which: Array
    root: Array

    @property
    def complete(self) -> bool:
        """Whether no entry is missing."""
        return len(self.patterns) == 1 and bool(self.patterns.all())


def _posterior_pieces(X: Array, mean: Array, W: Array, psi: Array, root: Array) -> Iterator[ObservedRows]:
    """Yield the rows of X (n, d) with their posteriors; `root` (k, k) is L⁻¹ of a complete row.

    Cost: n d k for complete rows; u d k² + u k³ more for u patterns with missing values. No array is larger than a
    piece.
    """
    d, k = W.shape
    step = max(1, MAX_PIECE_ENTRIES // max(d, k * k))
    scaled = W / psi[:, None]
    for part in slices(len(X), step):
        rest = X[part] - mean
        patterns, which = patterns_of(rest)
        if len(patterns) == 1 and patterns.all():
            roots = root[None]
            half = (rest @ scaled) @ root.T
            latent = half @ root
        else:
            rest[~patterns[which]] = 0.0
            roots = _posterior_roots(patterns, W, psi)
            mine = roots[which]
            half = mine @ (rest @ scaled)[:, :, None]
            latent = (np.swapaxes(mine, 1, 2) @ half)[:, :, 0]
        yield ObservedRows(part, rest, latent, patterns, which, roots)


def has_scattered_patterns(X: Array) -> bool:
    """Return whether nearly every row of X (n, d) misses entries of its own, judged by a sample of rows.

    >>> has_scattered_patterns(np.array([[1.0, np.nan], [np.nan, 2.0]])), has_scattered_patterns(np.ones((2, 2)))
    (True, False)
    """
    seen = ~np.isnan(X[:: max(1, len(X) // PATTERN_SAMPLE)])
    if seen.all():
        return False
    keys = seen @ np.random.default_rng(0).random(seen.shape[1])  # each pattern has its own number, almost surely
    return np.unique(keys).size > MAX_PATTERN_SHARE * len(seen)


def _posterior_roots(patterns: Array, W: Array, psi: Array) -> Array:
    """Return L⁻¹ (u, k, k) for each pattern (u, d), L Lᵀ = M = I + Σ_j seen_j w_j w_jᵀ / psi_j, by one product."""
    k = W.shape[1]
    upper = np.triu_indices(k)
    sums = np.zeros((len(patterns), upper[0].size))
    for part in _column_parts(*W.shape):
        table = W[part][:, upper[0]] * (W[part] / psi[part, None])[:, upper[1]]
        sums += patterns[:, part].astype(np.float64) @ table
    M = np.empty((len(patterns), k, k))
    M[:, upper[0], upper[1]] = M[:, upper[1], upper[0]] = sums
    M += np.eye(k)
    return np.asarray(np.tril(np.linalg.inv(np.linalg.cholesky(M))))


def _conditional_variances(root: Array, W: Array, psi: Array) -> Array:
    """Return psi_j + w_jᵀ cov[z | x_o] w_j (u, d), the variance of entry j given each pattern, by one large product."""
    k = W.shape[1]
    rows, columns = np.triu_indices(k)
    covariance = (np.swapaxes(root, 1, 2) @ root)[:, rows, columns] * np.where(rows == columns, 1.0, 2.0)
    found = np.empty((len(root), len(W)))
    for part in _column_parts(*W.shape):
        found[:, part] = covariance @ (W[part][:, rows] * W[part][:, columns]).T
    return np.asarray(np.maximum(found, 0.0) + psi)


def _column_parts(d: int, k: int) -> Iterator[slice]:
    """Return ranges of columns whose tables of w_j w_jᵀ are no larger than a piece."""
    return slices(d, max(1, MAX_PIECE_ENTRIES // max(1, k * k)))


def _precision_without_subtraction(W: Array, psi: Array) -> Array:
    """Return (W Wᵀ + Psi)⁻¹ as a sum of squares, accurate in each entry also where a noise is nearly 0 (Heywood).

    With N (d + k, d) an orthonormal basis orthogonal to the columns of [Psi^-½ W; I], and N₁ its first d rows,
    I − Psi^-½ W M⁻¹ Wᵀ Psi^-½ = N₁ N₁ᵀ. Rows in descending order of size, and pivoting, keep small rows of N accurate
    (Cox and Higham 1998, Stability of Householder QR factorization for weighted least squares problems). Cost O(d³).
    """
    d, k = W.shape
    deviation = np.sqrt(psi)[:, None]
    stacked = np.vstack([W / deviation, np.eye(k)])
    order = np.argsort(-np.abs(stacked).max(axis=1))
    N = np.empty((d + k, d))
    N[order] = scipy.linalg.qr(stacked[order], pivoting=True)[0][:, k:]
    half = N[:d] / deviation
    return np.asarray(half @ half.T)
