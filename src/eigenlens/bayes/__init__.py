"""Classifiers by Bayes' rule: naive Bayes, one density per class, linear and quadratic discriminants."""
