"""Opening a recorder: nobody loads pyarrow before somebody asks for a lake."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["causeway", "causeway.drivers.aio.broker", "causeway.sim.run"])
def test_nothing_loads_pyarrow_before_a_lake_is_asked_for(module: str) -> None:
    """The contracts let pass what names a type or is loaded late; this holds that it is."""
    code = f"import sys, causeway.lake.opening, {module}; print('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "False"
