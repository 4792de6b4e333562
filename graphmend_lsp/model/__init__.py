"""Names, imports, classes, functions, entries and regions of a module."""
