"""Principal components of simulated genotypes with missing calls by PLINK 2.00a3.5 (AVX2, 9 Aug 2022).

The files are those that `tests/genotypes/test_genotype_references.py` writes; chromosomes 1, 22, 23, 25 and 26:

    plink2 --bfile people --mac 1 --pca 4 biallelic-var-wts --threads 1 --out people

The relationship matrix is pairwise-complete, with the variance 2 p (1 - p). Without --mac 1, variants of one allele are
counted in its divisor. Figures are as PLINK prints them, to six digits. Statistics and effective numbers of markers of
Tracy-Widom tests are by twstats of EIGENSOFT 8.0.0.
"""

import numpy as np

# Of the copies x[i, j]: their sum, the sum of (j + 1) x[i, j], and the number of missing calls.
SUMS = (17463, 2655296, 553)

EIGENVALUES = np.array([3.58143, 3.24969, 1.91566, 1.8783])

# fmt: off
FIRST = np.array([
    0.100387, -0.259967, 0.161722, 0.029195, -0.159929, 0.0983472, 0.0552067, -0.185736, 0.064337, 0.0620451,
    -0.125722, 0.171981, 0.0970328, -0.161451, 0.11948, 0.12963, -0.13501, -0.0018954, 0.140323, -0.120791, 0.122871,
    0.0144844, -0.159648, 0.159695, 0.0296308, -0.148805, 0.0367382, 0.102754, -0.166875, 0.164455, 0.0412536,
    -0.0794469, 0.0898734, 0.0674693, -0.197082, 0.0785825, 0.0483363, -0.143951, 0.154776, 0.0419514, -0.240167,
    0.0278301, 0.0634744, -0.244535, 0.0724025, 0.0988859, -0.14014, 0.040894, 0.0757994, -0.21891, 0.141339,
    0.0700415, -0.140649, 0.155575, -0.0174517, -0.167415, 0.0349572, 0.142333, -0.191817, 0.108563,
])
SECOND = np.array([
    -0.219594, 0.0106684, 0.17544, -0.140107, 0.0130804, 0.12023, -0.0851016, 0.0473079, 0.10571, -0.151809,
    0.0330764, 0.111963, -0.146494, 0.0252061, 0.101074, -0.213003, 0.053586, 0.237409, -0.187288, -0.0575359,
    0.080771, -0.18452, -0.0278626, 0.142608, -0.155903, -0.0492878, 0.141655, -0.16772, -0.011023, 0.18929,
    -0.151801, -0.0492507, 0.17631, -0.115971, 0.0300768, 0.151089, -0.138207, -0.0466174, 0.0845653, -0.129752,
    0.0780444, 0.128146, -0.185346, 0.0482586, 0.106308, -0.107002, -0.0635179, 0.258545, -0.105969, -0.00109819,
    0.140813, -0.197421, 0.108344, 0.153237, -0.0909062, 0.104646, 0.0929659, -0.169775, -0.053365, 0.157545,
])
# fmt: on

# Of the file .eigenvec.var: its first, second and last lines.
WEIGHTS = [
    "1\trs0\tC\tT\t-0.607872\t-0.461334\t-2.70779\t-1.30276",
    "1\trs1\tA\tG\t-0.914827\t-0.427912\t-1.05094\t-0.920224",
    "XY\trs289\tA\tG\t1.53431\t-0.228847\t-0.396921\t0.549491",
]

# Eigenvalues of Z Z' / 500 for 60 x 500 normal deviates of default_rng(3), of which the first 40 columns of the first
# 30 rows are 0.9 larger, centred by columns: twstats -t twtable -i eigenvalues.txt -o tests.txt
TWSTATS = np.array(
    [
        [8.545, 461.703],
        [-2.275, 517.112],
        [-2.610, 527.018],
        [-3.255, 536.133],
        [-2.843, 543.307],
        [-2.916, 552.151],
    ]
)
