"""What the tests of experiments share."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.evaluate.committed import results_of


@pytest.fixture(scope="module")
def committed(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Of the experiment that a file of tests is named after."""
    return results_of(request.module.__name__.rpartition("test_")[2])
