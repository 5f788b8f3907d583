"""Naive Bayes on tables of numeric, categorical, binary and count columns."""
