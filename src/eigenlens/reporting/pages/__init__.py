"""The pages of a report, one per kind of model."""
