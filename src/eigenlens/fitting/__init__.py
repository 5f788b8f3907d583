"""From data to models."""

from eigenlens.fitting.gamma import GammaChoice, choose_gamma

__all__ = ["GammaChoice", "choose_gamma"]
