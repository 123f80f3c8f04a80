"""Topics of one life of an application: answers come there. Owns: their names."""

from __future__ import annotations

import re
from typing import Final

from causeway.topics.paths import SEPARATOR, TEMPORARY

_NAME_CHARS_MAX: Final = 40
"""Of the application's name: with its incarnation, and a number, it stays within the bound of a topic. The incarnation
makes it unique, the name tells people whose it is."""

_MEANINGFUL: Final = re.compile(r"[*#/~,= ]")


def temporary_prefix(application: str, incarnation: int) -> str:
    """The first level of all temporary topics of one life of an application."""
    return f"{TEMPORARY}{_MEANINGFUL.sub('-', application[:_NAME_CHARS_MAX])}:{incarnation:016x}"


def temporary_topic(application: str, incarnation: int, number: int) -> str:
    """The path of a temporary topic."""
    return f"{temporary_prefix(application, incarnation)}{SEPARATOR}{number}"


def is_temporary(path: str) -> bool:
    """Whether a topic, or all a pattern matches, ends with its application."""
    return path.startswith(TEMPORARY)
