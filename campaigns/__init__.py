"""Campaigns: thousands of generated cases, each of which has to end well; `python -m campaigns NAME` runs one."""
