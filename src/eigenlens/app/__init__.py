"""Programs: the demonstration."""
