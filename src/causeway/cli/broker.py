"""`causeway broker`: run one broker in the foreground."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from causeway.cli.options import AsJson, Settings, parse_address
from causeway.cli.output import notices, print_json
from causeway.config import BrokerConfig
from causeway.errors import ConfigError
from causeway.local.settings import settings_of, split_settings
from causeway.types import Peer

LOG_LEVELS = ("debug", "info", "warning", "error")


def broker(
    *,
    name: Annotated[str, typer.Option(help="Unique in the cluster; its hash is the broker's place on the ring.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 lets the system choose.")] = 0,
    seed: Annotated[
        list[str] | None, typer.Option(help="host:port of a broker to join through; may be repeated.")
    ] = None,
    founder: Annotated[
        bool,
        typer.Option(
            "--founder", help="Begin a new cluster if the data is empty and no seed answers as a member of one."
        ),
    ] = False,
    durability: Annotated[
        str, typer.Option(help="disk: acknowledged is on stable storage. memory: in memory.")
    ] = "disk",
    data: Annotated[Path | None, typer.Option(help="Directory of the broker's store (needed for disk).")] = None,
    copies: Annotated[int, typer.Option(help="K: brokers that hold a mailbox, its owner included.")] = 3,
    domain: Annotated[
        list[str] | None,
        typer.Option(help="Domain of causal order to be seated in; may be repeated: a broker in two joins them."),
    ] = None,
    spare: Annotated[
        bool, typer.Option("--spare", help="Hold no seat: stand by in its domains until a broker there fails.")
    ] = False,
    settings: Settings = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error; the log goes to stderr.")] = "info",
    as_json: AsJson = False,
) -> int:
    """Run one broker until it is told to stop.

    Ctrl-C or SIGTERM stop it, and it is expected back on the same data. SIGUSR1 makes it hand over everything it holds
    and leave for good. Domains must form a tree: a new broker whose --domain would close a cycle leaves and ends, one
    that was there before goes on with the seat it has. Exit codes: 0 stopped, 1 its domains were refused, 65 its
    database is malformed, 70 a bug, 74 the disk refused, 75 it did not hand over in time.
    With --json it prints one line when it listens: {"event": "ready", "name", "host", "port", "pid"}, and one when its
    domains are refused: {"event": "refused", "domains", "detail"}.
    """
    from causeway.drivers.aio.runner import run_broker

    _check_beginning(durability, data, seed, founder=founder)
    start_log(log_level)
    config = BrokerConfig(
        name=name,
        host=host,
        port=port,
        seeds=tuple(parse_address("seed", text) for text in seed or ()),
        founder=founder,
        durability=durability,
        copies=copies,
        domains=tuple(domain or ()),
        spare=spare,
        **settings_of(split_settings(settings or ())),  # type: ignore[arg-type]
    ).check()

    def ready(me: Peer) -> None:
        if as_json:
            print_json({"event": "ready", "name": me.name, "host": me.host, "port": me.port, "pid": os.getpid()})
        else:
            notices().print(f"broker [bold]{me.name}[/bold] listens on {me.host}:{me.port} (Ctrl-C stops it)")

    def refused(detail: str) -> None:
        if as_json:
            print_json({"event": "refused", "domains": config.domains, "detail": detail})
        notices().print(Text.assemble(("error: ", "bold red"), detail), soft_wrap=True)

    return run_broker(config, data, ready=ready, refused=refused)


def _check_beginning(durability: str, data: Path | None, seed: list[str] | None, *, founder: bool) -> None:
    """What a broker cannot begin without."""
    if durability == "disk" and data is None:
        raise ConfigError("data", None, "durability 'disk' needs --data DIR (or choose --durability memory)")
    if not founder and not seed:
        raise ConfigError("seed", seed, "give --seed host:port of a running broker, or --founder for the first one")


def start_log(level: str) -> None:
    """Send the log of this process to standard error, a line per record, times in UTC."""
    if level not in LOG_LEVELS:
        raise ConfigError("log-level", level, f"must be one of {', '.join(LOG_LEVELS)}")
    formatter = logging.Formatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logging.basicConfig(level=level.upper(), handlers=[handler])
