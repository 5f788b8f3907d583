"""Plots of the tables, by matplotlib. Nothing here estimates anything; each function returns the Axes it drew on."""

from eigenlens.plot._classifier import calibration, confusion, decision, explanation
from eigenlens.plot._comparison import comparison
from eigenlens.plot._components import contributions, loadings, scree
from eigenlens.plot._kde import bandwidth_curve, density, density_contours
from eigenlens.plot._kernel_pca import component_contours, denoising, embedding
from eigenlens.plot._latent import imputed, likelihood_path, noise, rotation
from eigenlens.plot._latent_classes import profile
from eigenlens.plot._mixture import mixture, mixture_density, mixture_selection, responsibilities
from eigenlens.plot._pairs import pairs
from eigenlens.plot._plane import biplot, correlation_circle, scores
from eigenlens.plot._reconstruction import reconstruction

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
    "pairs",
    "profile",
    "reconstruction",
    "responsibilities",
    "rotation",
    "scores",
    "scree",
]
