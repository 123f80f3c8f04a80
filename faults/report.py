"""What a campaign found, for people: a table, and the time line of each phase as a picture.

Owns: how it looks. Must not know: how it was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from faults.run import Outcome

DOTS_PER_INCH = 120
NUMBER_COLUMNS = 6
CAPTION = (
    "stored: acknowledged; gap: the longest that some lane got nothing done under faults; "
    "again: until all did after the heal"
)
FILLS = ("0.88", "0.8", "0.72")


def table(outcomes: Sequence[Outcome]) -> Table:
    """One line per phase."""
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    shown.add_column("phase", no_wrap=True, min_width=max((len(one.phase) for one in outcomes), default=0))
    for column in ("sent", "stored", "failed", "read", "gap", "again"):
        shown.add_column(column, justify="right", no_wrap=True, min_width=NUMBER_COLUMNS)
    shown.add_column("findings")
    for one in outcomes:
        found = ", ".join(f"{finding.rule} {finding.count}" for finding in one.findings)
        shown.add_row(
            one.phase,
            *(f"{count:,}" for count in (one.sent, one.acknowledged, one.failed, one.delivered)),
            f"{one.longest_gap:.1f} s",
            f"{one.served_again:.1f} s",
            f"[red]{found}[/]" if found else "held",
        )
    shown.caption = CAPTION
    shown.caption_justify = "left"
    return shown


def draw(outcome: Outcome, folder: Path) -> Path | None:
    """Acknowledgements per second above, how long they took below, the faults as bands through both."""
    if not outcome.rate:
        return None
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        canvas = Canvas(figsize=(9.0, 4.2), dpi=DOTS_PER_INCH, layout="constrained")
        upper, lower = canvas.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        at = [one[0] for one in outcome.rate]
        read = [one[3] for one in outcome.rate]
        upper.step(at, read, where="post", color="0.5", linewidth=1.0, linestyle="--", label="read")
        told = [one[1] for one in outcome.rate]
        upper.step(at, told, where="post", color="0.0", linewidth=1.3, label="acknowledged")
        upper.legend(loc="upper right", frameon=False, fontsize=8)
        upper.set_ylabel("letters per second")
        upper.set_ylim(bottom=0)
        waits = [(moment, 1000 * wait) for moment, count, wait, _read in outcome.rate if count]
        lower.plot([one for one, _wait in waits], [wait for _one, wait in waits], "o-", color="0.1", ms=2.5, lw=0.8)
        lower.set_yscale("log")
        lower.yaxis.set_major_formatter("{x:,g}")
        lower.yaxis.set_minor_formatter("")
        lower.set_ylabel("took, ms")
        lower.set_xlabel("seconds since everybody was served")
        verdict = ", ".join(f"{finding.rule} {finding.count}" for finding in outcome.findings) or "held"
        upper.set_title(f"{outcome.phase}, seed {outcome.seed}: {verdict}", loc="left", pad=8 + 11 * _rows(outcome))
        _draw_bands(outcome, (upper, lower))
        path = folder / "timeline.png"
        canvas.savefig(path, metadata={"Software": None})
    return path


def _rows(outcome: Outcome) -> int:
    return min(4, len(outcome.bands))


def _draw_bands(outcome: Outcome, both: tuple[Any, Any]) -> None:
    """Each fault from its begin to its end, named above."""
    upper, _lower = both
    for number, (name, begin, end) in enumerate(sorted(outcome.bands, key=lambda band: band[1])):
        for axes in both:
            axes.axvspan(begin, end, color=FILLS[number % len(FILLS)], zorder=0, linewidth=0)
        row = number % max(1, _rows(outcome))
        upper.annotate(
            name,
            (begin, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3 + 11 * row),
            textcoords="offset points",
            fontsize=7,
            color="0.25",
            annotation_clip=False,
        )
