r"""
Discrete naive Bayes: shall we play?
====================================

Fourteen days, four things known about each, and whether tennis was played (Quinlan 1986). Fourteen rows are far too
few for a table of all 36 kinds of days, but enough for the shares of each column in each class. For a new day every
column adds its part to the log-odds; the sum decides, and shows why.
"""

from io import StringIO

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from eigenlens import NaiveBayes

BLUE, RED = "#0072B2", "#D55E00"
plt.rcParams.update({"font.size": 13})

DAYS = """
outlook  temperature  humidity  wind    play
sun      hot          high      weak    no
sun      hot          high      strong  no
cloud    hot          high      weak    yes
rain     mild         high      weak    yes
rain     cool         normal    weak    yes
rain     cool         normal    strong  no
cloud    cool         normal    strong  yes
sun      mild         high      weak    no
sun      cool         normal    weak    yes
rain     mild         normal    weak    yes
sun      mild         normal    strong  yes
cloud    mild         high      strong  yes
cloud    hot          normal    weak    yes
rain     mild         high      strong  no
"""
days = pd.read_csv(StringIO(DAYS), sep=r"\s+")
play = days.pop("play")

rule = NaiveBayes(smoothing=1.0).fit(days, play)
today = pd.DataFrame(
    {"outlook": ["sun"], "temperature": ["cool"], "humidity": ["high"], "wind": ["strong"]}
)
why = rule.explain(today, of="yes", against="no")

parts = [("before looking", float(why.prior[0]))]
parts += [
    (f"{name}: {today[name][0]}", float(why.contributions[0, j])) for j, name in enumerate(why.names)
]
ends = np.cumsum([part for _, part in parts])
figure, ax = plt.subplots(figsize=(9.5, 4.6), layout="constrained")
for line, ((_, part), end) in enumerate(zip(parts, ends, strict=True)):
    colour = BLUE if part > 0 else RED
    ax.barh(line, part, left=end - part, color=colour, height=0.62)
    edge = max(end, end - part)
    ax.text(
        edge + 0.03, line, f"{part:+.2f}".replace("-", "−"), va="center", color=colour, weight="bold"
    )
    ax.plot([end, end], [line + 0.31, line + 0.69], color="0.5", linewidth=1)
ax.barh(len(parts), ends[-1], color="0.5", height=0.62)
ax.text(0.03, len(parts), f"{ends[-1]:+.2f}".replace("-", "−"), va="center", weight="bold")
ax.set_yticks(range(len(parts) + 1), [*(name for name, _ in parts), "together"])
ax.axvline(0, color="0.5", linewidth=1)
ax.invert_yaxis()
chance = rule.predict_proba(today)[0, list(rule.classes_).index("yes")]
ax.set_title(f"Play today? The probability of yes is {chance:.0%}", fontsize=15)
ax.set_xlabel("log-odds of playing    (← no, yes →)")
ax.tick_params(axis="y", length=0)
ax.spines[["top", "right", "left"]].set_visible(False)
plt.show()

# %%
# .. math:: \log \frac{p(\text{yes} \mid x)}{p(\text{no} \mid x)} = \log \frac{p(\text{yes})}{p(\text{no})}
#           + \sum_j \log \frac{p(x_j \mid \text{yes})}{p(x_j \mid \text{no})}
#
# The shares are counted with one row added to every category (Laplace's rule), so that a category never seen in a class
# is unlikely there, but not impossible.
