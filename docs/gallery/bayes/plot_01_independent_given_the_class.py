r"""
Independent given the class
===========================

Tall children know more words: over all ages together, height and vocabulary are correlated. But height does not teach
words. Among children of the same age the two have nothing to do with each other. This is all that naive Bayes
assumes: columns are independent *given the class*, so what each of them says about the age can simply be multiplied.
"""

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import NaiveBayes

COLOURS = "#E69F00", "#D55E00", "#009E73", "#0072B2"
plt.rcParams.update({"font.size": 14, "axes.spines.top": False, "axes.spines.right": False})

rng = np.random.default_rng(0)
years = np.array([4, 6, 8, 10])
age = rng.choice(years, 1200)
height = 80 + 6.0 * age + rng.normal(0, 3.2, age.size)
words = 1.6 * age - 1.0 + rng.normal(0, 0.85, age.size)  # in thousands
X = np.column_stack([height, words])
overall = np.corrcoef(X, rowvar=False)[0, 1]
within = [np.corrcoef(X[age == c], rowvar=False)[0, 1] for c in years]

rule = NaiveBayes().fit(X, age)
child = np.array([[124.0, 9.6]])

figure, panels = plt.subplots(1, 3, figsize=(11.5, 4.5), layout="constrained", width_ratios=[1, 1, 0.8])
panels[0].scatter(*X.T, s=14, color="0.5", alpha=0.6, linewidths=0)
panels[0].set_title(f"all children:\ncorrelation {overall:.2f}", fontsize=15)
for c, colour in zip(years, COLOURS, strict=True):
    panels[1].scatter(*X[age == c].T, s=14, color=colour, alpha=0.7, linewidths=0)
    x, y = X[age == c].mean(axis=0)
    panels[1].text(x - 11, y + 1.6, f"{c} years", color=colour, weight="bold", ha="right")
title = f"of one age:\ncorrelation {min(within):.2f} to {max(within):.2f}"
panels[1].set_title(title.replace("-", "−"), fontsize=15)
panels[1].scatter(*child[0], 380, marker="*", color="black", linewidths=0, zorder=3)
for ax in panels[:2]:
    ax.set(xlabel="height (cm)", ylabel="words known (thousands)", xlim=(70, 154), ylim=(2, 18.5))
bars = panels[2].bar([f"{c}" for c in rule.classes_], rule.predict_proba(child)[0], color=COLOURS)
panels[2].bar_label(bars, fmt="%.2f", padding=3, weight="bold")
title = f"★ {child[0, 0]:.0f} cm, {1000 * child[0, 1]:,.0f} words:\nhow old is the child?"
panels[2].set_title(title, fontsize=15)
panels[2].set(xlabel="age in years", ylabel="probability", ylim=(0, 1), yticks=[0, 0.5, 1])
plt.show()

# %%
# .. math:: p(c \mid x) \propto \pi_c \prod_{j=1}^d p(x_j \mid c)
