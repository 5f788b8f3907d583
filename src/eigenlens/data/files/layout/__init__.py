"""Where the table lies in delimited text: its cells, title, names, rows of one length, and cells left blank."""
