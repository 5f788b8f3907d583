r"""
Discrete naive Bayes: shall we play?
====================================

Here are fourteen days, four things known about each of them, and whether tennis was played (Quinlan 1986). Fourteen
rows are far too few for a table of all 36 kinds of days, but enough for the shares of each column in each class. For
a new day, every column adds its part to the log-odds; the sum decides, and the parts show why.
"""

from io import StringIO

import matplotlib.pyplot as plt
import pandas as pd

import eigenlens
from eigenlens import NaiveBayes

plt.rcParams.update({"font.size": 14})

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
chance = rule.predict_proba(today)[0, list(rule.classes_).index("yes")]

figure, ax = plt.subplots(figsize=(9.5, 4.6), layout="constrained")
eigenlens.plot.explanation(rule, today, of="yes", against="no", ax=ax)
words = f"Play today? The probability of yes is {chance:.0%}"
ax.set_title(words, loc="left", color="black")
ax.set_xlabel("log-odds of playing    (← no, yes →)")
plt.show()

# %%
# .. math:: \ln \frac{p(\text{yes} \mid x)}{p(\text{no} \mid x)} = \ln \frac{p(\text{yes})}{p(\text{no})}
#           + \sum_j \ln \frac{p(x_j \mid \text{yes})}{p(x_j \mid \text{no})}
#
# The shares are counted with one row added to every category (Laplace's rule), so that a category never seen in a class
# is unlikely there, but not impossible.
