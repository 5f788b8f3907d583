"""Where the modules that make the pages are."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "docs"), str(ROOT / "docs" / "extensions"), str(ROOT / "benchmarks")]
