"""Algorithms as textbooks have them, step by step: the power method, and EM for probabilistic PCA.

>>> import numpy as np
>>> from eigenlens.densities import LinearGaussian
>>> from eigenlens.textbook import em_path, power_path
>>> S = np.diag([4.0, 1.0, 1.0])
>>> power_path(S, start=[1.0, 1.0, 1.0], steps=3).quotients
array([2.   , 3.667, 3.977, 3.999])
>>> em_path(LinearGaussian(np.zeros(3), np.ones((3, 1)), 1.0), S, n=100, steps=2).logliks.round(1)
array([-570. , -508.2, -496.9])
"""

from eigenlens.latent.ppca.em_steps import (
    EMPath,
    ExpectedLatents,
    complete_log_likelihood,
    em_path,
    em_step,
    em_step_of_covariance,
    expected_complete_log_likelihood,
    expected_latents,
    maximise_expected,
)
from eigenlens.linalg.power import PowerMethod, PowerPath, power_path

__all__ = [
    "EMPath",
    "ExpectedLatents",
    "PowerMethod",
    "PowerPath",
    "complete_log_likelihood",
    "em_path",
    "em_step",
    "em_step_of_covariance",
    "expected_complete_log_likelihood",
    "expected_latents",
    "maximise_expected",
    "power_path",
]
