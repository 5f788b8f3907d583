"""Plain tables that plots and reports show."""
