"""Bandwidths of Old Faithful by R 4.2.2, stats and ks.

bw.nrd0(x), bw.nrd(x); bw.SJ(x, method = "ste" or "dpi", nb = 20000, tol = 1e-10), for the default stops after about
three digits; ks::hlscv(x) without binning; ks::Hns(faithful).
"""

import numpy as np

# (column of faithful, rule): bandwidth
R = {
    ("eruptions", "silverman"): 0.334777034463943,
    ("eruptions", "scott"): 0.394292951701978,
    ("eruptions", "sheather-jones"): 0.139695869266403,
    ("eruptions", "sheather-jones-dpi"): 0.165353199589443,
    ("eruptions", "lscv"): 0.103176534795468,
    ("waiting", "silverman"): 3.98755882857918,
    ("waiting", "scott"): 4.69645817588214,
    ("waiting", "sheather-jones"): 2.49684033991546,
    ("waiting", "sheather-jones-dpi"): 2.6329982202622,
    # bw.ucv(waiting, nb = 20000, tol = 1e-10)
    ("waiting", "lscv"): 2.65768712786589,
}

NORMAL_SCALE = np.array([[0.201062413147119, 2.15732759110876], [2.15732759110876, 28.5255338738254]])
