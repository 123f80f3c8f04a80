"""The numbers of the committed reports, for tests. Owns: where they are."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parents[3] / "docs" / "evaluation"


@functools.cache
def results_of(experiment: str) -> dict[str, Any]:
    """All that the committed run of one experiment found; nobody changes it."""
    found: dict[str, Any] = json.loads((FOLDER / experiment / "results.json").read_text())
    return found
