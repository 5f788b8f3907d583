r"""
Kernel naive Bayes: where a bell does not fit
=============================================

In two kinds of birds the females are small and the males are large, so wing lengths have two modes in each kind. A
single Gaussian has to span both modes, and is nearly the same for either kind. A kernel density of each column in
each class follows the modes (John and Langley 1995). The rule stays the same; only the densities in it have changed.
"""

import matplotlib.pyplot as plt
import numpy as np

import eigenlens
from eigenlens import NaiveBayes

BLUE, RED = "#0072B2", "#D55E00"
plt.rcParams.update({"font.size": 14})


def birds(n, seed):
    """Wing and beak (n, 2) of birds of two kinds."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, n)
    wing = np.where(kind == 0, 7.0, 9.4) + 4.8 * rng.integers(0, 2, n) + rng.normal(0, 0.65, n)
    beak = np.where(kind == 0, 4.4, 3.6) + rng.normal(0, 1.0, n)
    return np.column_stack([wing, beak]), kind


X, y = birds(400, 0)
new, truth = birds(20_000, 1)
rules = {"Gaussian": NaiveBayes("gaussian").fit(X, y), "kernel": NaiveBayes("kde").fit(X, y)}

u = np.linspace(4, 17.2, 240)
figure, axes = plt.subplots(
    2, 2, figsize=(10, 6.2), layout="constrained", height_ratios=[1, 2.4], sharex=True, sharey="row"
)
for (above, ax), (name, rule) in zip(axes.T, rules.items(), strict=True):
    eigenlens.plot.decision(rule, X, y, ax=ax)
    for c, colour in enumerate((BLUE, RED)):
        bump = np.exp(rule.density(0, c).log_density(u[:, None]))
        above.fill_between(u, bump, color=colour, alpha=0.25, linewidth=0)
        above.plot(u, bump, color=colour, linewidth=2.5)
    wrong = 1 - rule.score(new, truth)
    above.set_title(f"{name} naive Bayes: {wrong:.1%} errors on new birds", fontsize=14)
    above.set_axis_off()
    ax.set(xlabel="wing (cm)", ylabel="beak (cm)")
    ax.set_title("", loc="left")
plt.show()

# %%
# .. math:: p(x_j \mid c) = \frac{1}{n_c h} \sum_{i:\, c_i = c} K\!\left(\frac{x_j - x_{ij}}{h}\right), \qquad
#           h = \frac{\max x_j - \min x_j}{\sqrt{n_c}} \text{ within the class.}
#
# Where numbers are rounded, so that some occur more than once, it is :math:`\sqrt{h^2 + r^2 / 12}`: a rounded value
# represents all values between it and its neighbours, which are :math:`r` apart on average.
