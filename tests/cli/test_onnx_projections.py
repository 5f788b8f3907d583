"""The affine maps that are exported to ONNX are those of `transform`; this needs no ONNX."""

from __future__ import annotations

import numpy as np
import pytest

from eigenlens import PCA, FactorAnalysis, LinearDiscriminant, ProbabilisticPCA
from eigenlens.cli.onnx import discriminant_projection, latent_projection, principal_projection

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 2)) @ RNG.standard_normal((2, 6)) + RNG.standard_normal((200, 6))
Y = (X[:, 0] > 0.0).astype(int)


@pytest.mark.parametrize(
    ("model", "projection"),
    [
        (PCA(2), principal_projection),
        (PCA(2, standardize=True, whiten=True), principal_projection),
        (ProbabilisticPCA(2), latent_projection),
        (FactorAnalysis(2), latent_projection),
        (FactorAnalysis(2, rotation="varimax"), latent_projection),
        (FactorAnalysis(2, rotation="promax"), latent_projection),
        (LinearDiscriminant(), discriminant_projection),
    ],
)
def test_a_projection_is_the_transform(model, projection):
    model.fit(X, Y)
    mu, V = projection(model)
    np.testing.assert_allclose((X - mu) @ V, model.transform(X), atol=1e-10)
