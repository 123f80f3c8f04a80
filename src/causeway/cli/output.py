"""How the command line speaks: tables and one-line errors for people, JSON for programs.

Owns: exit codes, the shape of errors, the two consoles. Must not know: any command.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.text import Text

from causeway.errors import REMEDIES, Code, ConfigError, PipelineError

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
"""Refused, unavailable, or a guarantee did not hold."""
EXIT_USAGE: Final = 2
"""A flag, a setting or a URL is wrong."""
EXIT_INTERRUPTED: Final = 130


def console() -> Console:
    """Where tables for people go."""
    return Console(file=sys.stdout, highlight=False)


def notices() -> Console:
    """Where progress and hints for people go, so that standard output stays clean."""
    return Console(file=sys.stderr, highlight=False)


def print_json(value: object) -> None:
    """One line of JSON on standard output, at once (a reader may follow)."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    sys.stdout.flush()


def describe(error: BaseException) -> dict[str, Any]:
    """An error with stable keys: kind, message, retriable, and what its class adds (field, value, code, remedy)."""
    described: dict[str, Any] = {
        "kind": type(error).__name__,
        "message": str(error),
        "retriable": bool(getattr(error, "retriable", False)),
    }
    if isinstance(error, ConfigError):
        described |= {"field": error.field, "value": _shown(error.value), "remedy": error.remedy}
    elif isinstance(error, PipelineError):
        described["remedy"] = error.remedy
    code = getattr(error, "code", None)
    if isinstance(code, int):
        described["code"] = code_name(code)
        if code in REMEDIES:
            described["remedy"] = REMEDIES[Code(code)]
    return described


def code_name(code: int) -> str:
    """The name of a wire code, also of one that a newer broker invented."""
    try:
        return Code(code).name.lower()
    except ValueError:
        return f"code-{code}"


def fail(error: BaseException, *, as_json: bool) -> int:
    """Report an error as one line (and as JSON when asked for); the exit code it deserves."""
    described = describe(error)
    if as_json:
        print_json({"error": described})
    line = described["message"]
    remedy = described.get("remedy", "")
    if remedy and remedy not in line:
        line += f" ({remedy})"
    notices().print(Text.assemble(("error: ", "bold red"), " ".join(line.split())), soft_wrap=True)
    return EXIT_USAGE if isinstance(error, ConfigError) else EXIT_FAILED


def fail_usage(message: str, *, where: str, as_json: bool) -> int:
    """Report a command line that could not be parsed."""
    line = " ".join(message.split())
    if as_json:
        print_json({"error": {"kind": "UsageError", "message": line, "retriable": False}})
    hint = f" (see '{where} --help')"
    notices().print(Text.assemble(("error: ", "bold red"), line, hint), soft_wrap=True)
    return EXIT_USAGE


def _shown(value: object) -> object:
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
