"""The `causeway` program: one command per file; errors become one line and an exit code here."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Final

import typer

from causeway.cli.options import examples
from causeway.cli.output import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, fail, fail_usage
from causeway.errors import CausewayError

COMMANDS: Final[dict[str, tuple[str, ...]]] = {
    "up": (
        "causeway up",
        "causeway up --brokers 5 --data ./cluster --detach",
        "causeway up --brokers 9 --layout bus --domains 3",
        "causeway up --durability memory --port 0 --json",
    ),
    "down": ("causeway down", "causeway down --data ./cluster"),
    "leave": ("causeway leave broker-2", "causeway leave broker-2 --data ./cluster --timeout 60 --json"),
    "status": ("causeway status", "causeway status --url causeway://127.0.0.1:7400 --json"),
    "salvage": ("causeway salvage billing", "causeway salvage --all --yes --json"),
    "locate": ("causeway locate", "causeway locate causeway://127.0.0.1:7400,127.0.0.1:7401 --json"),
    "send": (
        "causeway send billing 'invoice 17' 'invoice 18'",
        "causeway send billing --file invoice.pdf --service transactional",
        "tail -f app.log | causeway send logs --stdin-lines --service express",
        "causeway send billing ping --count 1000 --ttl 60 --priority 9 --json",
    ),
    "receive": (
        "causeway receive billing",
        "causeway receive billing --count 10 --timeout 5 --json",
        "causeway receive billing --follow",
        "causeway receive billing --selector \"region = 'EU'\"",
        "causeway receive billing --no-ack",
    ),
    "publish": (
        "causeway publish roads/a1/speed 120",
        "causeway publish roads/a1/limit 80 --retain --service transactional",
        "causeway publish 'road=a1, kind=speed' 120 --naming 'roads/{road}/{kind}'",
    ),
    "subscribe": (
        "causeway subscribe 'roads/*/speed'",
        "causeway subscribe 'roads/#' --durable board --count 10 --json",
        "causeway subscribe 'roads/#' --durable workers --shared --selector 'lane = 2'",
        "causeway subscribe 'roads/#' --start earliest",
    ),
    "unsubscribe": (
        "causeway unsubscribe board",
        "causeway unsubscribe workers --shared",
        "causeway unsubscribe --mailbox desk",
    ),
    "mailbox": ("causeway mailbox purge billing", "causeway mailbox delete billing --yes --json"),
    "browse": ("causeway browse billing", "causeway browse billing --count 100 --json"),
    "story": ("causeway story orders:5f3a91:billing:t:17",),
    "broker": (
        "causeway broker --name a --founder --port 7400 --data ./a",
        "causeway broker --name b --seed 127.0.0.1:7400 --data ./b",
        "causeway broker --name c --seed 127.0.0.1:7400 --data ./c --domain north --domain south",
    ),
    "score": (
        "causeway score",
        "causeway score --data ./a --json",
        "causeway score --set 'probes=cpu=1*2, memory=1GiB, disk=10GiB'",
    ),
    "join": ("causeway join north", "causeway join north --url causeway://127.0.0.1:7401 --json"),
    "domains": ("causeway domains", "causeway domains --json"),
    "why-held": ("causeway why-held --all", "causeway why-held --url causeway://127.0.0.1:7401 --json"),
    "plan": (
        "causeway plan domains traffic.csv",
        "causeway plan domains traffic.csv --present seats.json --domain-size-max 16 --out better.json",
        "cat traffic.json | causeway plan domains - --url causeway://127.0.0.1:7400 --json",
        "causeway plan placement examples/placement.json --threshold 0.02",
        "causeway plan costs --sites 400 --brokers 120 --application-server-usd 3100",
    ),
    "sim": ("causeway sim --seed 7", "causeway sim --seed 7 --brokers 12 --trace-digest", "causeway sim --json"),
    "evaluate": (
        "causeway evaluate aaa --quick",
        "causeway evaluate gemom --out ./gemom --seed 7 --json",
        "causeway evaluate all --out ./reports",
        "causeway evaluate all --quick --strict --master 'local[2]'",
    ),
    "lake": (
        "causeway lake files ./lake --kind events",
        "causeway lake compact s3a://traces/lake --json",
        "causeway lake retain ./lake --days 30 --size 20g",
    ),
    "pipeline": (
        "causeway pipeline rates --lake ./lake --out ./rates",
        "causeway pipeline latency --lake ./lake --stream --json",
        "causeway pipeline sweep --set 'brokers=5,7' --set seeds=20 --master 'local[4]'",
    ),
    "demo": ("causeway demo", "causeway demo --keep", "causeway demo --seconds 30 --json"),
}
"""Every command with its examples; command `x-y` is the function `x_y` in `causeway.cli.x_y`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in given
    # Only the command asked for is imported: a broker should not pay for the simulator.
    app = make_app(given[:1] if given and given[0] in COMMANDS else COMMANDS)
    try:
        code = app(given, prog_name="causeway", standalone_mode=False)
    except CausewayError as error:
        return fail(error, as_json=as_json)
    except (KeyboardInterrupt, typer.Abort):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (head, grep -q) has seen enough; Python must not complain again when it flushes at exit.
        sys.stdout = None
        return EXIT_FAILED
    except Exception as error:
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):
            return _usage(error, as_json=as_json)
        raise
    return code if isinstance(code, int) else EXIT_OK


def make_app(names: Iterable[str]) -> typer.Typer:
    """The program with these commands."""
    app = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    first = ("causeway up --brokers 5 --detach", "causeway send billing 'hello' --service transactional")
    app.callback(epilog=examples(*first, "causeway receive billing", "causeway status", "causeway down"))(_causeway)
    for name in names:
        function = name.replace("-", "_")
        command = getattr(importlib.import_module(f"causeway.cli.{function}"), function)
        app.command(name, epilog=examples(*COMMANDS[name]))(command)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        from causeway.extras import DISTRIBUTION, clash

        try:
            typer.echo(f"causeway {version(DISTRIBUTION)}")
        except PackageNotFoundError:
            typer.echo("causeway (not installed)")
        if found := clash():
            typer.echo(found, err=True)
        raise typer.Exit


def _causeway(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Send messages between applications, over brokers that find each other, share the work and replace each other.

    Exit codes: 0 done, 1 refused, unavailable or a guarantee did not hold, 2 a flag, a setting or a URL is wrong.
    With --json an error is {"error": {"kind", "message", "retriable", "field", "value", "remedy", "code"}}.
    """


def _usage(error: Exception, *, as_json: bool) -> int:
    """A command line that could not be parsed; without any arguments the help was the answer already."""
    message = str(error.format_message())  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    if not message or type(error).__name__ == "NoArgsIsHelpError":
        if message:
            typer.echo(message)
        return int(error.exit_code)  # type: ignore[attr-defined]
    return fail_usage(message, where=getattr(context, "command_path", "causeway"), as_json=as_json)
