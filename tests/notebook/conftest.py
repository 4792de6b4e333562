"""Notebooks as tools write them."""

from __future__ import annotations
