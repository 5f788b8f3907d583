"""Readers of formats other than delimited text, one format per module; `FORMATS` of `scan` lists them."""
