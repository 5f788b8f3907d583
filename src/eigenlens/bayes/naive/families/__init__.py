"""The families that a naive Bayes factor may have, one kind per module."""
