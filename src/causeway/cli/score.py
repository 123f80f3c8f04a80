"""`causeway score`: how fit this machine is for a broker, and what one would sustain on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from causeway.cli.options import AsJson, Settings
from causeway.cli.output import EXIT_OK, console, print_json
from causeway.config import BrokerConfig
from causeway.limits import KIB
from causeway.local.settings import settings_of, split_settings
from causeway.probes.calibration import BATCH_MESSAGES, MESSAGE_BYTES, Calibration, calibrate
from causeway.probes.capacity import CapacityMeter
from causeway.probes.needs import read_needs
from causeway.probes.registry import ResourceProbe, find_probes
from causeway.probes.score import Score
from causeway.probes.scorer import Scorer

BYTE_UNITS: Final = ("", " KiB", " MiB", " GiB", " TiB")

Directory = Annotated[
    Path, typer.Option("--data", metavar="DIR", help="Data directory of the broker meant; it need not exist yet.")
]


class ShownPart(msgspec.Struct, kw_only=True):
    """One probe, as `score` shows it."""

    probe: str
    unit: str
    available: float | None
    need: float
    weight: float
    """As written; what counts is its share of all."""
    share: float
    value: float
    reason: str


class Fitness(msgspec.Struct, kw_only=True):
    """What `score` finds."""

    score: float
    parts: list[ShownPart]
    capacity: float
    """Messages per second that a broker here would say of itself when it starts."""
    batched: float
    single: float


def score(*, data: Directory = Path(), settings: Settings = None, as_json: AsJson = False) -> int:
    """Measure this machine as a broker on it would: its score as a spare, and what it sustains.

    A need that is met counts 1, half of it 0.37, nothing 0; the score is the mean by weight, and the best-scored spare
    is promoted. Needs and weights are the setting probes, for example --set 'probes=cpu=1*2, memory=1GiB'. Needs no
    running broker. With --json it prints one object: "score", "parts" (each "probe", "unit", "available", "need",
    "weight", "share", "value", "reason"), "capacity", "batched" and "single" (messages per second).
    """
    values = settings_of(split_settings(settings or ()))
    config = BrokerConfig(name="any", **values).check()  # type: ignore[arg-type]
    needs = read_needs(config.probes)
    probes = find_probes([one.probe for one in needs], data)
    found = Scorer(needs, probes).measure()
    calibration = calibrate()
    weights = {one.probe: one.weight for one in needs}
    shown = Fitness(
        score=found.value,
        parts=_parts(found, probes, weights),
        capacity=CapacityMeter(calibration.start, configured=config.capacity).capacity(),
        batched=calibration.batched,
        single=calibration.single,
    )
    if as_json:
        print_json(shown)
    else:
        _show(shown, calibration, configured=bool(config.capacity))
    return EXIT_OK


def _parts(found: Score, probes: dict[str, ResourceProbe], weights: dict[str, float]) -> list[ShownPart]:
    return [
        ShownPart(
            probe=part.probe,
            unit=probes[part.probe].unit,
            available=part.available,
            need=part.need,
            weight=weights[part.probe],
            share=part.weight,
            value=part.value,
            reason=found.reasons.get(part.probe, ""),
        )
        for part in found.parts
    ]


def _show(shown: Fitness, calibration: Calibration, *, configured: bool) -> None:
    title = f"score of this machine: {shown.score:.3f}"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("probe", no_wrap=True)
    for column in ("available", "need", "weight", "share", "value"):
        table.add_column(column, justify="right", no_wrap=True)
    for part in shown.parts:
        colour = "green" if part.value == 1 else "red" if part.value < 0.5 else "yellow"
        amounts = ("-" if part.available is None else amount(part.available, part.unit), amount(part.need, part.unit))
        shares = (f"{part.weight:g}", f"{part.share:.2f}", f"[{colour}]{part.value:.3f}[/]")
        table.add_row(escape(part.probe), *map(escape, amounts), *shares)
    out = console()
    out.print(table)
    for part in shown.parts:
        if part.reason:
            out.print(escape(f"{part.probe}: {part.reason}"), soft_wrap=True)
    origin = "as configured" if configured else "until it has seen traffic"
    out.print(f"capacity: {shown.capacity:,.0f} messages/s, {origin}", soft_wrap=True)
    out.print(
        f"measured with {MESSAGE_BYTES} bytes each, stored in memory and settled: {calibration.single:,.0f} messages/s "
        f"one by one, {calibration.batched:,.0f} in batches of {BATCH_MESSAGES}; sockets, disk and copies come on top",
        soft_wrap=True,
    )


def amount(value: float, unit: str) -> str:
    """A number with its unit, bytes in the largest that leaves a whole one."""
    if not unit.startswith("bytes"):
        return f"{value:.4g} {unit}".strip()
    power = 0
    while abs(value) >= KIB and power < len(BYTE_UNITS) - 1:
        value /= KIB
        power += 1
    rest = unit.removeprefix("bytes")
    return f"{value:.4g}{BYTE_UNITS[power] or ' B'}{rest}"
