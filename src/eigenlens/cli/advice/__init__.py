"""Advice of the command line: commands and options to try, which are tried here before they are printed."""
