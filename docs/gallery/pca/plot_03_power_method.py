r"""
The power method and deflation
==============================

Multiply any vector by the covariance matrix again and again, and it turns towards the first principal component, here
from noise to an image in a dozen steps or so. Remove that direction (deflation), and the same steps find the next
one. At each step the error shrinks by the ratio of two neighbouring eigenvalues, so the method is slow if they are
close.

One step, and the rate at which the angle to :math:`v_j` closes once the components before it are deflated:

.. math:: v \leftarrow \frac{S_j v}{\|S_j v\|}, \qquad S_{j+1} = S_j - \lambda_j v_j v_j^\top, \qquad
          \tan \angle(v^{(t)}, v_j) \sim \left(\frac{\lambda_{j+1}}{\lambda_j}\right)^{t} .
"""

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import PCA, datasets
from eigenlens.textbook import power_path

plt.rcParams.update({"font.size": 13, "axes.titlesize": 15})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
COLOURS, SHOWN = ["#0072B2", "#D55E00", "#009E73"], [0, 1, 5, 20, 80]

X = datasets.load("digits").data
pca = PCA().fit(X)
S, lam, rng = pca.get_covariance(), pca.explained_variance_, np.random.default_rng(3)

paths = []
for j in range(3):
    path = power_path(S, rng.standard_normal(64), 400).vectors
    paths.append(path)
    S = S - lam[j] * np.outer(path[-1], path[-1])

fig = plt.figure(figsize=(11, 4.6), layout="constrained")
images, plot = fig.subfigures(1, 2, width_ratios=[1.1, 1], facecolor="none")
panels, ax = images.subplots(3, len(SHOWN)), plot.subplots()
t = np.arange(81)
for j, (path, colour) in enumerate(zip(paths, COLOURS, strict=True)):
    v, name = pca.components_[j], f"v{'₁₂₃'[j]}"
    for step, panel in zip(SHOWN, panels[j], strict=True):
        image = np.sign(path[-1] @ v) * path[step].reshape(8, 8) / np.abs(path[step]).max()
        panel.imshow(image, cmap="RdBu_r", vmin=-1, vmax=1)
        panel.set(xticks=[], yticks=[], title=f"step {step}" if j == 0 else "")
        panel.spines[:].set_visible(False)
    panels[j, 0].set_ylabel(name, color=colour, rotation=0, labelpad=16, va="center", fontsize=18)
    along = path @ v
    tangent = np.linalg.norm(path - along[:, None] * v, axis=1) / np.abs(along)
    ratio = lam[j + 1] / lam[j]
    ax.semilogy(t, tangent[t], color=colour, lw=8, alpha=0.45)
    ax.semilogy(t, tangent[60] * ratio ** (t - 60.0), "--", color=colour, lw=1.8)
    ax.text(
        82, tangent[80], f"{name}: λ{'₂₃₄'[j]}/λ{'₁₂₃'[j]} = {ratio:.2f}", color=colour, va="center"
    )
ax.set(xlabel="steps", ylabel="tangent of the angle to the component", xlim=(0, 80), ylim=(None, 30))
ax.set_title("dashed: the rate λⱼ₊₁ / λⱼ per step", loc="left")
plt.show()
