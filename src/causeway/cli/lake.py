"""`causeway lake`: what lies in a trace lake; few files in place of many; no more of it than is wanted."""

from __future__ import annotations

from typing import Annotated, Final

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from causeway.cli.options import AsJson
from causeway.cli.output import EXIT_OK, console, notices, print_json
from causeway.errors import ConfigError
from causeway.lake.limits import REPLACED_SECONDS
from causeway.lake.opening import require_pyarrow
from causeway.lake.schema import KINDS
from causeway.progress import Progress

ACTIONS: Final = ("files", "compact", "retain")
UNITS: Final = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def lake(
    action: Annotated[str, typer.Argument(metavar="|".join(ACTIONS), help="What to do.")],
    place: Annotated[str, typer.Argument(metavar="LAKE", help="Its folder: a path, or a URI like s3a://BUCKET/LAKE.")],
    *,
    kind: Annotated[str, typer.Option(help=f"Of files, one kind: {', '.join(KINDS)}.")] = "",
    days: Annotated[int | None, typer.Option(min=1, help="Retire what is more than so many days old.")] = None,
    size: Annotated[str, typer.Option(help="Retire the oldest days until the rest is no larger: 500m, 20g.")] = "",
    idle: Annotated[
        float, typer.Option(min=0, help="Seconds; what was written more recently is not compacted: its writer may be.")
    ] = REPLACED_SECONDS,
    grace: Annotated[
        float, typer.Option(min=0, help="Seconds for which replaced files stay, for jobs that are reading them.")
    ] = REPLACED_SECONDS,
    as_json: AsJson = False,
) -> int:
    """List the files of a trace lake that count, make them few, or retire old days. Needs no Spark.

    `files` prints one path per line, for whoever reads them without Causeway. `compact` makes one segment of many, in
    place. `retain` retires whole days; of events a row remains that says what they were. Jobs and writers go on
    meanwhile. With --json it prints one object: for files "files"; else "segments_before", "segments_after",
    "bytes_before", "bytes_after", "replaced" (segments whose place another has taken), "removed" (files), "days".
    """
    require_pyarrow(place)
    if action == "files":
        return _files(place, kind, as_json=as_json)
    if action not in ACTIONS:
        raise ConfigError("action", action, f"must be one of: {', '.join(ACTIONS)}")
    if action == "retain" and days is None and not size:
        raise ConfigError("days", days, "say what to keep: --days 30, --size 20g, or both")
    if action == "compact" and (days is not None or size):
        raise ConfigError("days", days or size, "is for retain; compact removes nothing that counts")
    from causeway.lake.keeping import compact, retain

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=notices(), transient=True) as bar:
        task = bar.add_task(action, total=None)

        def told(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        if action == "compact":
            found = compact(place, idle=idle, grace=grace, told=told)
        else:
            found = retain(place, days=days, bytes_max=parse_size(size), grace=grace, told=told)
    if as_json:
        print_json(found)
        return EXIT_OK
    out = console()
    out.print(f"segments: {found.segments_before:,} before, {found.segments_after:,} now", highlight=False)
    out.print(f"bytes: {found.bytes_before:,} before, {found.bytes_after:,} now", highlight=False)
    out.print(f"replaced: {found.replaced:,} segments; removed: {found.removed:,} files", highlight=False)
    if found.days:
        out.print(f"retired: {', '.join(found.days)}", highlight=False, soft_wrap=True)
    return EXIT_OK


def _files(place: str, kind: str, *, as_json: bool) -> int:
    from causeway.lake.table import listing

    if kind and kind not in KINDS:
        raise ConfigError("kind", kind, f"must be one of: {', '.join(KINDS)}")
    found = [str(one.location) for one in listing(place, kind).live]
    if as_json:
        print_json({"files": found})
    else:
        out = console()
        for path in found:
            out.print(path, soft_wrap=True, markup=False, highlight=False)
    return EXIT_OK


def parse_size(text: str) -> int | None:
    """Bytes of a size like 500m or 20g; None if there is none."""
    if not text:
        return None
    number, unit = (text[:-1], UNITS[text[-1].lower()]) if text[-1].lower() in UNITS else (text, 1)
    if not number.isdecimal() or not int(number):
        raise ConfigError("size", text, "must be bytes like 500m, 20g or 1t")
    return int(number) * unit
