"""Proof by running: does mended code do what the original does?  No torch here: ``worker/`` runs the code."""
