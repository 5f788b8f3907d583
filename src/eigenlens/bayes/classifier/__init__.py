"""A Bayes classifier from any density: one fitted copy per class."""
