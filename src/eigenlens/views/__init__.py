"""From models to tables, and from tables to pictures."""
