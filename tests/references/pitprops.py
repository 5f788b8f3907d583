"""Correlations of 13 variables of 180 pit props of Corsican pine (Jeffers 1967, Appl. Statist. 16, 225)."""

import numpy as np

NAMES = (
    "topdiam", "length", "moist", "testsg", "ovensg", "ringtop", "ringbut", "bowmax", "bowdist", "whorls", "clear",
    "knots", "diaknot",
)  # fmt: skip
ABOVE = """
0.954 0.364 0.342 -0.129 0.313 0.496 0.424 0.592 0.545 0.084 -0.019 0.134
0.297 0.284 -0.118 0.291 0.503 0.419 0.648 0.569 0.076 -0.036 0.144
0.882 -0.148 0.153 -0.029 -0.054 0.125 -0.081 0.162 0.220 0.126
0.220 0.381 0.174 -0.059 0.137 -0.014 0.097 0.169 0.015
0.364 0.296 0.004 -0.039 0.037 -0.091 -0.145 -0.208
0.813 0.090 0.211 0.274 -0.036 0.024 -0.329
0.372 0.465 0.679 -0.113 -0.232 -0.424
0.482 0.557 0.061 -0.357 -0.202
0.526 0.085 -0.127 -0.076
-0.319 -0.368 -0.291
0.029 0.007
0.184
"""
CORRELATIONS = np.eye(13)
for i, line in enumerate(ABOVE.strip().splitlines()):
    CORRELATIONS[i, i + 1 :] = CORRELATIONS[i + 1 :, i] = [float(word) for word in line.split()]

N = 180
