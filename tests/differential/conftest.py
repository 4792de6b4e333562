"""The generator's modules import each other by name, as ``bench/differential`` imports them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
