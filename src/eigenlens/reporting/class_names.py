"""Names of models as words, for titles."""

from __future__ import annotations

import re

from eigenlens.catalogue import MODELS


def words_of_class(name: str) -> str:
    """Return the name of a class as words; any other name as it is.

    >>> words_of_class("KernelPCA"), words_of_class("NaiveBayes"), words_of_class("my model")
    ('Kernel PCA', 'Naive Bayes', 'my model')
    """
    kind, _, more = name.partition(" ")  # a second model of a class has a number
    if kind not in MODELS:
        return name
    first, *rest = re.findall("[A-Z]+(?![a-z])|[A-Z][a-z]+", kind)
    words = [first, *(word if word in ("PCA", "Bayes") else word.lower() for word in rest)]
    return " ".join([*words, *more.split()])
