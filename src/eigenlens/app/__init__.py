"""Programs: the command line, the report and the demonstration."""
