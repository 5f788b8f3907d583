"""Pictures of the tables, by matplotlib. Nothing here estimates anything; each function returns the Axes it drew on."""

from eigenlens.views.draw.classes import calibration, confusion, decision, explanation
from eigenlens.views.draw.columns import contributions, loadings
from eigenlens.views.draw.comparison import comparison
from eigenlens.views.draw.denoised import denoising
from eigenlens.views.draw.kernel import component_contours, embedding
from eigenlens.views.draw.latent import imputed, likelihood_path, noise, rotation
from eigenlens.views.draw.plane import biplot, correlation_circle, scores
from eigenlens.views.draw.rebuilt import reconstruction
from eigenlens.views.draw.spectrum import scree

__all__ = [
    "biplot",
    "calibration",
    "comparison",
    "component_contours",
    "confusion",
    "contributions",
    "correlation_circle",
    "decision",
    "denoising",
    "embedding",
    "explanation",
    "imputed",
    "likelihood_path",
    "loadings",
    "noise",
    "reconstruction",
    "rotation",
    "scores",
    "scree",
]
