"""What is installed beside us: extras, only where they are asked for, and what is said where one is missing.

Owns: the name under which pip knows us. Must not know: what an extra is used for.
"""

from __future__ import annotations

import importlib.util
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from causeway.errors import ConfigError

DISTRIBUTION: Final = "causeway-mq"
"""On PyPI `causeway` is a web framework of other people, whose package has our name."""
ARRAYS: Final = ("numpy", "scipy")
"""What placement computes with."""


def clash() -> str | None:
    """What to do if the other `causeway` is installed too: both write into one folder, and the later one wins."""
    try:
        other = version("causeway")
    except PackageNotFoundError:
        return None
    return (
        f"causeway {other}, a web framework of other people, is installed beside {DISTRIBUTION} in the same folder: "
        f"each overwrites the other's files. Keep one in each environment: pip uninstall causeway {DISTRIBUTION}, "
        f"then install {DISTRIBUTION} again"
    )


def missing(*modules: str) -> str | None:
    """The first of these that is not installed."""
    return next((module for module in modules if importlib.util.find_spec(module) is None), None)


def install(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def require(extra: str, *modules: str, field: str, value: object) -> None:
    """Refuse a setting or a command whose extra is not installed, before it has begun."""
    absent = missing(*modules)
    if absent is not None:
        raise ConfigError(field, value, f"needs {absent}, which is not installed; install it with: {install(extra)}")
