r"""
Choosing the bandwidth by cross-validation
==========================================

Each row is left out in turn, and the density of the others is asked about it: that estimates the error of a bandwidth
without knowing the truth. The rule "lscv" takes the minimum of the curve, and the rule of Sheather and Jones comes
close. Silverman's rule, made for a single hump, sits higher on it: it flattens both humps and fills the valley.
"""

import matplotlib.pyplot as plt
import numpy as np

import eigenlens
from eigenlens import KernelDensity

BLUE, RED, GREEN = "#0072B2", "#D55E00", "#009E73"
plt.rcParams.update({"font.size": 13, "axes.titlesize": 14})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})

X = eigenlens.datasets.load("old-faithful").data[:, :1]
n = len(X)


def criterion(h):
    """∫ f² − 2/n Σ f₋ᵢ(xᵢ): the squared error of f, up to a constant."""
    squared = KernelDensity(bandwidth=np.sqrt(2.0) * h).fit(X).density(X).mean()
    with_itself = KernelDensity(bandwidth=h).fit(X).density(X).mean()
    without = with_itself - 1.0 / (n * h * np.sqrt(2.0 * np.pi))  # less the bump of the point itself
    return squared - 2.0 * without


h = np.geomspace(0.04, 0.6, 100)
y = np.linspace(0.8, 6.0, 500)[:, None]
rules = {
    "Silverman": ("silverman", BLUE),
    "Sheather and Jones": ("sheather-jones", GREEN),
    "cross-validation": ("lscv", RED),
}
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4.6), layout="constrained", width_ratios=[1.15, 1]
)
left.plot(h, [1e3 * criterion(each) for each in h], color="0.5", linewidth=3, zorder=1)
for line, (name, (rule, colour)) in enumerate(rules.items()):
    chosen = eigenlens.bandwidth(X[:, 0], rule)
    left.plot(chosen, 1e3 * criterion(chosen), "o", color=colour, markersize=13)
    words = f"{name}: h = {chosen:.3f}"
    left.text(0.1, 0.94 - 0.09 * line, words, color=colour, weight="bold", transform=left.transAxes)
    right.plot(y, KernelDensity(bandwidth=chosen).fit(X).density(y), color=colour, linewidth=3)
left.set(xscale="log", xlabel="bandwidth h", ylabel="estimated error (× 1000, less ∫ f²)")
left.set_xticks([0.05, 0.1, 0.2, 0.5], ["0.05", "0.1", "0.2", "0.5"])
left.minorticks_off()
right.set(xlabel="minutes of eruption", yticks=[], title="the three densities")
right.spines["left"].set_visible(False)
plt.show()

# %%
# The curve is, up to the constant :math:`\int f^2`, an estimate of the integrated squared error:
#
# .. math:: \int \bigl(\hat f - f\bigr)^2 - \int f^2 \;\approx\;
#           \int \hat f^2 - \frac{2}{n} \sum_{i=1}^n \hat f_{-i}(x_i) .
#
# For Gaussian kernels :math:`\int \hat f^2` is the mean of the density of bandwidth :math:`\sqrt 2\,h` at the data. In
# :math:`\hat f_{-i}` the divisor stays :math:`n`, as in Silverman (1986, equation 3.39).
