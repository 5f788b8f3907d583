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

__all__ = ["biplot", "contributions", "correlation_circle", "loadings", "reconstruction", "scores", "scree"]
