"""Mixtures of any family: naive Bayes whose classes are not known."""
