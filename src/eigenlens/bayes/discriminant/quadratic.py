"""`QuadraticDiscriminant`: Gaussian classes with one covariance per class."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.classifier.explain_gaussian import explain_gaussian_classes
from eigenlens.bayes.discriminant.covariances import Shrinkage, class_covariances
from eigenlens.bayes.discriminant.estimator import GaussianClasses
from eigenlens.bayes.discriminant.fit import gaussian_classes
from eigenlens.bayes.discriminant.options import check_quadratic_options, require_rows, warn_about_quadratic
from eigenlens.bayes.discriminant.shrinkage import Rule, Target
from eigenlens.bayes.explain import Explanation
from eigenlens.densities.mixture import Mixture
from eigenlens.errors import DataError


@dataclass(eq=False, repr=False)
class QuadraticDiscriminant(GaussianClasses):
    """Gaussian classes with one covariance each: ln p(c | x) = ln pi_c − ½ ln |S_c| − ½ |x − m_c|²_(S_c) + const.

    Parameters:
        shrinkage: None; a number a in [0, 1] for (1 − a) S_c + a T_c; or "ledoit-wolf" for the a of each class that
            minimises the expected error (Ledoit and Wolf 2004). With the target "diagonal" that is scikit-learn's
            "auto", which is accepted too. Or a function (n, d, trace, square, quartic) → a.
        target: T_c. "diagonal" keeps the variances, so that units do not matter; "identity" is their mean times I. Or a
            function from the variances (d,) to the diagonal (d,) of T_c.
        reg: in [0, 1], for (1 − reg) S_c + reg I, in the units of the columns: scikit-learn's reg_param.
        prior: None for the shares of the classes; "uniform"; probabilities in the order of `classes_`; or a dict.
        random_state: seed of `sample`.
        verbose: True for a progress bar, or a callable (done, in all, what).

    Attributes:
        classes_: (C,). class_prior_: (C,) pi. means_: (C, d) m_c. covariances_: (C, d, d) S_c, of divisor Σw.
        shrinkage_: (C,) a. class_count_: (C,) Σw. n_samples_: number of rows with positive weight.
        solver_: how the covariances were found. model_: the classes as a frozen `Mixture` of Gaussians.

    With fewer rows than columns in all, and shrinkage or reg, no d×d matrix is made. Columns that are constant in all
    rows are left out, and the covariance of a class that is singular all the same is clamped at a floor, both with a
    warning; a class of one row is an error. NaN is a missing value: the observed entries of a row count by their
    likelihood in `fit` (by EM), and decide in `predict`. A rule of shrinkage then uses the pairs of observed entries.

    Example:
        >>> X = np.array([[0.0], [0.1], [-0.1], [3.0], [-3.0], [2.0], [-2.0]])
        >>> qda = QuadraticDiscriminant(prior="uniform").fit(X, list("aaabbbb"))
        >>> qda.predict([[0.0], [0.5], [-1.0]]).tolist(), qda.covariances_.ravel().round(3)
        (['a', 'b', 'b'], array([0.007, 6.5  ]))
    """

    _: KW_ONLY
    shrinkage: float | str | Rule | None = None
    target: str | Target = "diagonal"
    reg: float = 0.0
    prior: Any = None
    random_state: Any = None
    verbose: Any = False

    _pooled = False

    def _check_options(self, n_classes: int) -> Shrinkage:
        return check_quadratic_options(self)

    def _estimate(self, found: Any, shrinkage: Shrinkage) -> tuple[Mixture, Array]:
        fix = "one row has no covariance: leave the class out, or use LinearDiscriminant"
        require_rows(found, self.classes_, 1.0, fix)
        own = class_covariances(found, shrinkage)
        if not all(getattr(C, "rank", 1) for C in own.covariances):
            raise DataError("no column varies within any class, so there is no covariance", fix="check X and y")
        warn_about_quadratic(own, found.rows, self)
        return gaussian_classes(self.class_prior_, found.mean, own.covariances), own.amounts

    @property
    def model_(self) -> Mixture:
        """The frozen mixture of classes; after `partial_fit` it is computed on first use."""
        mixture: Mixture = self._solved[0]
        return mixture

    @property
    def _mixture(self) -> Mixture:
        return self.model_

    def explain(self, X: Any, *, of: Any = None, against: Any = None) -> Explanation:
        """Return what each feature adds to the log-odds of each row's class, sorted; with the prior they sum to them.

            t_aj − t_bj,   t_cj = −½ (ln 2π + ln C_jj + (ln R)_jj + (x − m)_j (C⁻¹ (x − m))_j)

        with mean m, covariance C and correlations R of class c: half of a cross term goes to each of its features (the
        Shapley values of the quadratic form). By default the most likely class a of each row is compared with the next
        most likely b. A missing value adds 0, and C is then that of the observed entries. ln |C| is divided up by the
        diagonal of the logarithm of the correlations, which is 0 for a feature that is uncorrelated with the others;
        units do not matter. Where two classes have the same covariance the sum is that of `LinearDiscriminant`, which
        divides it up differently: by (C⁻¹ (m_a − m_b))_j, and no half of a term in x_j x_k.
        """
        return explain_gaussian_classes(self, self.model_.components, X, of, against)

    # ---- learned attributes -----------------------------------------------------------------------------

    @property
    def covariances_(self) -> Any:
        """The covariances (C, d, d) of the classes."""
        parts: list[Any] = list(self.model_.components)
        return self._like(np.stack([part.covariance.matrix() for part in parts]))

    @property
    def shrinkage_(self) -> Array:
        """The intensity of shrinkage (C,) of each class."""
        return self._solved[1]
