"""Pictures of the tables, by matplotlib. Nothing here estimates anything; each function returns the Axes it drew on."""

from eigenlens.views.draw.classes import calibration, confusion, decision, explanation
from eigenlens.views.draw.columns import contributions, loadings
from eigenlens.views.draw.comparison import comparison
from eigenlens.views.draw.denoised import denoising
from eigenlens.views.draw.density import bandwidth_curve, density, density_contours
from eigenlens.views.draw.kernel import component_contours, embedding
from eigenlens.views.draw.latent import imputed, likelihood_path, noise, rotation
from eigenlens.views.draw.mixture import mixture, mixture_density, mixture_selection, responsibilities
from eigenlens.views.draw.plane import biplot, correlation_circle, scores
from eigenlens.views.draw.rebuilt import reconstruction
from eigenlens.views.draw.spectrum import scree

__all__ = [
    "bandwidth_curve",
    "biplot",
    "calibration",
    "comparison",
    "component_contours",
    "confusion",
    "contributions",
    "correlation_circle",
    "decision",
    "denoising",
    "density",
    "density_contours",
    "embedding",
    "explanation",
    "imputed",
    "likelihood_path",
    "loadings",
    "mixture",
    "mixture_density",
    "mixture_selection",
    "noise",
    "reconstruction",
    "responsibilities",
    "rotation",
    "scores",
    "scree",
]
