"""The files around one file: configuration, discovery, reading and writing, and modules by name."""
