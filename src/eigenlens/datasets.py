"""The embedded examples: `eigenlens.datasets.load("uk-food")`."""

from eigenlens.data.examples import EXAMPLES, Example, load

__all__ = ["EXAMPLES", "Example", "load"]
