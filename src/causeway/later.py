"""Names of a package that are loaded when they are first used, so that importing it costs next to nothing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable


def later(package: str, where: dict[str, tuple[str, ...]]) -> Callable[[str], object]:
    """The `__getattr__` of a package (PEP 562): `where` says which of its modules have which names. `dir` lists
    them."""

    def load(name: str) -> object:
        for module, names in where.items():
            if name in names:
                found: object = getattr(importlib.import_module(f"{package}.{module}"), name)
                setattr(sys.modules[package], name, found)  # the next time it is simply there
                return found
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *(name for names in where.values() for name in names)})

    setattr(sys.modules[package], "__dir__", listed)  # noqa: B010  mypy knows no such attribute of a module
    return load
