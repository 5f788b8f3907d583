"""Pictures of fitted models: `eigenlens.plot.biplot(model, X)`. Each function returns the Axes it drew on."""

from eigenlens.views.draw import (
    biplot,
    contributions,
    correlation_circle,
    loadings,
    reconstruction,
    scores,
    scree,
)
from eigenlens.views.draw.denoised import denoising
from eigenlens.views.draw.kernel import component_contours, embedding
from eigenlens.views.draw.latent import imputed, likelihood_path, noise, rotation

__all__ = [
    "biplot",
    "component_contours",
    "contributions",
    "correlation_circle",
    "denoising",
    "embedding",
    "imputed",
    "likelihood_path",
    "loadings",
    "noise",
    "reconstruction",
    "rotation",
    "scores",
    "scree",
]
