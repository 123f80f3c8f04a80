"""Options that several commands share, so that they are named, explained and defaulted the same everywhere."""

from __future__ import annotations

import asyncio
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from causeway.client.url import parse_url
from causeway.errors import ConfigError, TransportError
from causeway.local import runfile
from causeway.local.probe import nobody_listens
from causeway.local.settings import FIELDS

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of tables for people.")]

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        envvar="CAUSEWAY_URL",
        help="Brokers to talk to, causeway://host:port[,host:port...]. Default: the cluster of 'causeway up'.",
    ),
]

Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        envvar="CAUSEWAY_DATA",
        help="Data directory of the local cluster meant. Default: the cluster started last.",
    ),
]

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help="A setting without a flag, for example stored_bytes_max=16GiB or silence=3s; may be repeated. "
        "All of them: " + ", ".join(FIELDS) + ".",
    ),
]

Order = Annotated[
    str | None,
    typer.Option(
        "--order",
        metavar="causal",
        help="causal: nobody gets a message before those that its sender had sent or received, across mailboxes and "
        "topics. Needs brokers seated in a domain, as those of 'causeway up' are.",
    ),
]

AppName = Annotated[str, typer.Option("--name", help="Name of the application that this command acts as.")]


Naming = Annotated[
    list[str] | None,
    typer.Option(
        "--naming",
        metavar="TEMPLATE",
        help="How tags are written as a path, for example 'roads/{road}/{kind}'; may be repeated.",
    ),
]


def examples(*lines: str) -> str:
    """The end of a help text: commands to copy. An empty line between them keeps each on its own line."""
    return "\n\n".join(("[bold]Examples[/bold]", *(f"$ {line}" for line in lines)))


def resolve_url(url: str | None, data: Path | None) -> str:
    """The URL given, or that of the local cluster."""
    if url is not None:
        return url
    where, run = runfile.find(data)
    if not run.addresses:
        raise ConfigError("data", str(where), "its cluster was never started; start it with 'causeway up'")
    return run.url


def reach(url: str | None, data: Path | None) -> str:
    """As `resolve_url`; a TransportError at once if nobody listens there. A client would wait for a cluster to come."""
    where = resolve_url(url, data)
    addresses = tuple(dict.fromkeys(parse_url(where)))
    if asyncio.run(nobody_listens(addresses)):
        remedy = "is the cluster running there?" if url is not None else f"start it with '{_start_command(data)}'"
        raise TransportError(f"nobody listens at {', '.join(f'{host}:{port}' for host, port in addresses)}; {remedy}")
    return where


def _start_command(data: Path | None) -> str:
    where, _run = runfile.find(data)
    return f"causeway up{data_flag(where)}"


def data_flag(where: Path) -> str:
    """What a command that is printed needs to mean the cluster in this directory; nothing for the default one."""
    return "" if where == runfile.default_data_dir() else f" --data {shlex.quote(str(where))}"


def parse_address(field: str, text: str) -> tuple[str, int]:
    """`host:port`, or a ConfigError that says what is wrong."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host:
        raise ConfigError(field, text, "must be host:port, for example 127.0.0.1:7400")
    if not port.isdecimal() or not 1 <= int(port) <= 65535:
        raise ConfigError(field, text, f"its port {port!r} must lie in 1..65535")
    return host, int(port)


def read_text(field: str, path: str) -> str:
    """What a file holds, - for standard input; or a ConfigError that says what is wrong."""
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(field, path, f"{error.strerror}; give a file that you may read, or - for stdin") from error
    except UnicodeDecodeError as error:
        raise ConfigError(field, path, f"is not UTF-8 text ({error.reason} at byte {error.start})") from error
