r"""
The bandwidth decides
=====================

The kernel hardly matters, but the bandwidth does. The eruptions of a geyser are either short or long, so their
lengths have two humps. A bandwidth that is too small shows every single eruption, and one that is too large melts the
humps into one. The rule of Sheather and Jones estimates how curved the density is, and finds a bandwidth in between.
"""

import matplotlib.pyplot as plt
import numpy as np

import eigenlens
from eigenlens import KernelDensity

plt.rcParams.update({"font.size": 14})

minutes = eigenlens.datasets.load("old-faithful").data[:, :1]
y = np.linspace(0.2, 6.6, 600)[:, None]
best = eigenlens.bandwidth(minutes[:, 0], "sheather-jones")

figure, panels = plt.subplots(1, 3, figsize=(11, 4), layout="constrained", sharex=True, sharey=True)
titles = "too small", "Sheather and Jones", "too large"
for ax, h, title in zip(panels, (best / 8, best, 6 * best), titles, strict=True):
    kde = KernelDensity(bandwidth=h).fit(minutes)
    modes = int(np.sum(np.diff(np.sign(kde.derivative(y))) < 0))
    eigenlens.plot.density(kde, minutes, band=None, ax=ax)
    ax.set_title(
        f"{title}\nh = {h:.2f}, {modes} hump{'s' if modes > 1 else ''}", loc="left", color="black"
    )
    ax.set(xlabel="minutes of eruption", xlim=(0.2, 6.6))
plt.show()

# %%
# The error of :math:`\hat p` has two parts, to leading order a squared bias that grows with :math:`h` and a variance
# that falls with it:
#
# .. math:: \int E\bigl(\hat p - p\bigr)^2 \approx \frac{h^4}{4} \kappa_2(K)^2 \int p''^2 + \frac{R(K)}{n h} .
#
# The only unknown is :math:`\int p''^2`. Silverman's rule takes that of a Gaussian, Sheather and Jones estimate it.
