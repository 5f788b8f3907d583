"""`QuadraticDiscriminant`: Gaussian classes with a covariance each."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.classifier.explain_gaussian import explained_by_gaussians
from eigenlens.bayes.discriminant.covariances import Shrinking
from eigenlens.bayes.discriminant.estimator import GaussianClasses
from eigenlens.bayes.discriminant.fit import gaussian_classes, own_covariances
from eigenlens.bayes.discriminant.options import checked_quadratic, require_rows, warn_about_own
from eigenlens.bayes.explain import Explanation
from eigenlens.densities.mixture import Mixture
from eigenlens.errors import DataError

__all__ = ["QuadraticDiscriminant"]


class QuadraticDiscriminant(GaussianClasses):
    """Gaussian classes with a covariance each: ln p(c | x) = ln pi_c − ½ ln |S_c| − ½ |x − m_c|²_(S_c) + const.

    Parameters:
        shrinkage: None; a number a in [0, 1] for (1 − a) S_c + a T_c; or "ledoit-wolf" for the a of each class that has
            the least expected error (Ledoit and Wolf 2004): with the target "diagonal" scikit-learn's "auto", which is
            taken for it too.
        target: T_c. "diagonal" keeps the variances, so that units do not matter; "identity" is their mean times I.
        reg: in [0, 1], for (1 − reg) S_c + reg I, in the units of the columns: scikit-learn's reg_param.
        prior: None for the shares of the classes; "uniform"; probabilities in the order of `classes_`; or a dict.
        random_state: seed of `sample`.
        verbose: True for a progress bar, or a callable (done, in all, what).

    Attributes:
        classes_: (C,). class_prior_: (C,) pi. means_: (C, d) m_c. covariances_: (C, d, d) S_c, of divisor Σw.
        shrinkage_: (C,) a. class_count_: (C,) Σw. n_samples_: rows that count.
        solver_: how the covariances were found. model_: the classes as a frozen `Mixture` of Gaussians.

    With fewer rows than columns in all, and shrinkage or reg, no d×d matrix is made. Columns that are constant in all
    rows are left out, and a class whose covariance is singular all the same is held at a floor, both with a warning;
    a class of one row is an error. NaN is a missing entry: what is there of a row counts by its likelihood in `fit`
    (by EM), and decides in `predict`. A rule of shrinkage then goes by the pairs of entries that are there.

    Example:
        >>> X = np.array([[0.0], [0.1], [-0.1], [3.0], [-3.0], [2.0], [-2.0]])
        >>> qda = QuadraticDiscriminant(prior="uniform").fit(X, list("aaabbbb"))
        >>> qda.predict([[0.0], [0.5], [-1.0]]).tolist(), qda.covariances_.ravel().round(3)
        (['a', 'b', 'b'], array([0.007, 6.5  ]))
    """

    _pooled = False

    def __init__(
        self,
        *,
        shrinkage: float | str | None = None,
        target: str = "diagonal",
        reg: float = 0.0,
        prior: Any = None,
        random_state: Any = None,
        verbose: Any = False,
    ) -> None:
        self.shrinkage = shrinkage
        self.target = target
        self.reg = reg
        self.prior = prior
        self.random_state = random_state
        self.verbose = verbose

    def _options(self, n_classes: int) -> Shrinking:
        return checked_quadratic(self)

    def _estimate(self, found: Any, shrinking: Shrinking) -> tuple[Mixture, Array]:
        require_rows(found, self.classes_, 1.0, "one row has no spread; leave it out, or use LinearDiscriminant")
        own = own_covariances(found, shrinking)
        if not all(getattr(C, "rank", 1) for C in own.covariances):
            raise DataError("no column varies within any class, so there is no covariance; check X and y.")
        warn_about_own(own, found.rows, self)
        return gaussian_classes(self.class_prior_, found.mean, own.covariances), own.amounts

    @property
    def model_(self) -> Mixture:
        """The frozen mixture of classes; after `partial_fit` it is made when first asked for."""
        mixture: Mixture = self._solved[0]
        return mixture

    @property
    def _mixture(self) -> Mixture:
        return self.model_

    def explain(self, X: Any, *, of: Any = None, against: Any = None) -> Explanation:
        """What each feature adds to the log-odds of each row's class, sorted; with the prior it sums to them.

            t_aj − t_bj,   t_cj = −½ (ln 2π + ln C_jj + (ln R)_jj + (x − m)_j (C⁻¹ (x − m))_j)

        with mean m, covariance C and correlations R of class c: half of a cross term goes to each of its features (the
        Shapley values of the quadratic form). The likeliest class a of each row against the next likeliest b, if not
        given. A missing entry adds 0, and C is then that of the entries that are there. ln |C| is shared out by the
        diagonal of the logarithm of the correlations, which is 0 for a feature that is uncorrelated with the others;
        units do not matter. Where two classes have one covariance the sum is that of `LinearDiscriminant`, which
        shares it out otherwise: by (C⁻¹ (m_a − m_b))_j, and no half of a term in x_j x_k.
        """
        return explained_by_gaussians(self, self.model_.components, X, of, against)

    # ---- learned attributes -----------------------------------------------------------------------------

    @property
    def means_(self) -> Any:
        """(C, d) m_c."""
        return self._like(self.model_.means)

    @property
    def covariances_(self) -> Any:
        """(C, d, d) S_c."""
        parts: list[Any] = list(self.model_.components)
        return self._like(np.stack([part.covariance.matrix() for part in parts]))

    @property
    def shrinkage_(self) -> Array:
        """(C,) a."""
        return self._solved[1]
