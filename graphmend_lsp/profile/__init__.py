"""Measure what graph breaks cost: graphs, cold start and steady state, as the code is and mended.  No torch here."""
