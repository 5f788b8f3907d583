"""Standard errors of factors by lavaan 0.6-14 (R 4.2.2), of the covariances of six ability tests (`factanal.py`).

f <- cfa('efa("a")*f1 + efa("a")*f2 =~ x1 + x2 + x3 + x4 + x5 + x6',
         sample.cov = ability.cov$cov, sample.nobs = 112, sample.cov.rescale = FALSE, rotation = "varimax",
         rotation.args = list(row.weights = "kaiser", std.ov = TRUE))                # parameterEstimates(f)
g <- cfa('f =~ NA*x1 + x2 + x3 + x4 + x5 + x6; f ~~ 1*f', <the same covariances>)
         # parameterEstimates(g), standardizedSolution(g)
"""

import numpy as np

# fmt: off
VARIMAX_LOADINGS = np.array([
    [2.6898911, 2.48763114], [1.6075409, 0.40900776], [10.5180280, 2.55186106], [1.6664620, 0.39215870],
    [1.2990275, 6.93955000], [2.5864312, 9.13622133],
])
VARIMAX_ERRORS = np.array([
    [0.45935228, 0.43714557], [0.25050778, 0.19254595], [1.19387330, 0.86613525], [0.35273945, 0.26720241],
    [0.50779737, 0.69800202], [0.86931338, 1.10001623],
])
NOISE_ERRORS = np.array([1.78725659, 0.66162512, 16.81767114, 1.40808345, 6.72678581, 12.45704925])

ONE_FACTOR_ERRORS = np.array([0.43502002, 0.25029594, 1.14792401, 0.35037901, 0.58365332, 0.94845814])
ONE_NOISE_ERRORS = np.array([2.00895236, 0.78183912, 15.70988308, 1.56702608, 3.31086620, 8.65662063])
ONE_STANDARDIZED_ERRORS = np.array([0.058145130, 0.087006376, 0.077384987, 0.092339923, 0.038163355, 0.040431522])
ONE_UNIQUENESS_ERRORS = np.array([0.079333480, 0.066812740, 0.077665177, 0.055364569, 0.066901749, 0.068626846])
# fmt: on
