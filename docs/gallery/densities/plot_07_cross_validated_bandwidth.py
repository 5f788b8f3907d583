r"""
Choosing the bandwidth by cross-validation
==========================================

Each row is left out in turn and scored by the density of the others. This estimates the error of a bandwidth without
knowing the truth. The rule "lscv" takes the minimum of the curve, and the rule of Sheather and Jones comes close.
Silverman's rule, made for a single hump, lies higher on the curve: it flattens both humps and fills the valley.
"""

import matplotlib.pyplot as plt

import eigenlens
from eigenlens import KernelDensity

plt.rcParams.update({"font.size": 14})

X = eigenlens.datasets.load("old-faithful").data[:, :1]
rules = {"Silverman": "silverman", "Sheather and Jones": "sheather-jones", "cross-validation": "lscv"}
densities = {name: KernelDensity(bandwidth=rule).fit(X) for name, rule in rules.items()}

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
eigenlens.plot.bandwidth_curve(densities["cross-validation"], ax=left)
eigenlens.plot.density(densities, ax=right)
left.set(xlabel="bandwidth h (minutes)")
right.set(xlabel="minutes of eruption", ylim=(0, 0.85))
plt.show()

# %%
# The curve is, up to the constant :math:`\int p^2`, an estimate of the integrated squared error:
#
# .. math:: \int \bigl(\hat p - p\bigr)^2 - \int p^2 \;\approx\;
#           \int \hat p^2 - \frac{2}{n} \sum_{i=1}^n \hat p_{-i}(x_i) .
#
# For Gaussian kernels :math:`\int \hat p^2` is the mean of the density of bandwidth :math:`\sqrt 2\,h` at the data. In
# :math:`\hat p_{-i}` the divisor stays :math:`n`, as in Silverman (1986, equation 3.39).
