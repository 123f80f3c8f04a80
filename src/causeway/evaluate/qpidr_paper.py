"""What QpidR prints in section 5: its tables, and whether its own sentences about them hold with our brokers.

Owns: the paper's figures, and the bounds by which its sentences hold. Must not know: our goals, how anything was
measured.
"""

from __future__ import annotations

from typing import Any, Final

from causeway.evaluate.evaluation import Conclusion
from causeway.evaluate.fits import LineFit, least_squares, power_fit

TABLE_1: Final = {10: (23.97, 1.67), 20: (42.68, 2.97), 30: (68.92, 3.27), 40: (89.49, 6.68)}
TABLE_2: Final = {0: (496.38, 4.51), 10: (595.80, 5.16), 20: (704.23, 5.48), 30: (800.05, 6.09), 40: (907.87, 5.80)}
TABLE_3: Final = {5: (627.87, 3.99), 10: (690.02, 5.30), 15: (751.34, 6.19), 20: (810.38, 6.91)}
TABLE_4: Final = {
    1: (2.92, 0.34, 3.43, 2.39),
    2: (5.50, 0.64, 6.78, 4.35),
    3: (8.52, 0.77, 9.56, 6.99),
    4: (11.46, 0.82, 12.63, 9.93),
    5: (14.37, 0.87, 15.71, 12.37),
}
"""As printed: mean and standard deviation, in Table 4 also maximum and minimum."""
USUAL: Final = 24
"""Hosts of Table 4."""
SPARES: Final = 6
"""Of ours among them: one more than fail at once."""

QUEUE_KB: Final = 10
ROUTE_KB: Final = 12
WITHIN_SECONDS: Final = 15
"""What the text says of the tables."""
ABOUT: Final = 0.25
"""As a share: a figure that differs by no more is about the same."""
ALIKE: Final = 0.05
"""As a share: lines whose slopes differ by no more do not meet anywhere that one could name."""
LINEAR: Final = (0.85, 1.15)
"""Exponents within which a growth is called so."""

Rows = list[dict[str, Any]]
Tables = dict[str, Rows]


def line_of(rows: Rows, what: str, who: str) -> LineFit:
    """The line through one column of Table 2 or 3, over queues or routes."""
    return least_squares([row[what] for row in rows], [row[who] for row in rows])


def turns_at(rows: Rows, what: str, who: str) -> float | None:
    """From how many on the paper's line is below ours; None if ours is not steeper, as far as so few points tell."""
    ours, paper = line_of(rows, what, who), line_of(rows, what, "paper")
    if ours.slope <= (1 + ALIKE) * paper.slope:
        return None
    return (paper.intercept - ours.intercept) / (ours.slope - paper.slope)


def printed_ratio() -> float:
    """How much longer the recovery of five takes than that of one, as Table 4 has it."""
    return TABLE_4[5][0] / TABLE_4[1][0]


def paper_sentences(tables: Tables) -> tuple[Conclusion, ...]:
    """One per sentence of section 5 that says how a table grows."""
    return (
        _rate_is_linear(tables["table_1"]),
        _per_object(tables["table_2"], "queue", QUEUE_KB, "Table 2"),
        _per_object(tables["table_3"], "route", ROUTE_KB, "Table 3"),
        _latency_is_linear(tables["table_4"]),
        _within_seconds(tables["table_4"]),
    )


def _rate_is_linear(rows: Rows) -> Conclusion:
    brokers = [row["brokers"] for row in rows]
    ours, full, paper = (
        power_fit(brokers, [row[who] for row in rows]).slope for who in ("ours", "ours_with_headers", "paper")
    )
    found = (
        f"as the power {full:.2f} of the number of brokers on the landmark's line with headers, {ours:.2f} without; "
        f"the printed figures as {paper:.2f}"
    )
    return Conclusion("The rate of monitoring grows linearly with brokers (Table 1)", found, _is_linear(full))


def _is_linear(power: float) -> bool:
    return LINEAR[0] <= power <= LINEAR[1]


def _per_object(rows: Rows, one: str, said: int, where: str) -> Conclusion:
    full, bare, everywhere, paper = (
        line_of(rows, f"{one}s", who).slope
        for who in ("landmark_with_headers", "landmark", "ours_with_headers", "paper")
    )
    found = (
        f"{full:.1f} KB on the landmark's line with headers, {bare:.1f} without; over all lines of the domain "
        f"{everywhere:.1f} with headers. The printed figures give {paper:.1f}"
    )
    held = abs(full / said - 1) <= ABOUT
    return Conclusion(f"To recover a {one} takes about {said} KB ({where})", found, held, asserted=False)


def _latency_is_linear(rows: Rows) -> Conclusion:
    killed = [row for row in rows if not row["silent"]]
    failures = [row["failures"] for row in killed]
    ours, paper = (power_fit(failures, [row[who] for row in killed]).slope for who in ("ours", "paper"))
    found = (
        f"the printed figures grow as the power {paper:.2f} of the number of failures, ours as {ours:.2f}: its "
        "landmark recovers one broker after the other, our brokers recover all at once"
    )
    claim = "The latency of recovery grows linearly with failures (Table 4)"
    return Conclusion(claim, found, _is_linear(ours), asserted=False)


def _within_seconds(rows: Rows) -> Conclusion:
    five = {row["silent"]: row["ours_max"] for row in rows if row["failures"] == 5}
    found = (
        f"at most {five[False]:.2f} s when they are killed, {five[True]:.2f} s when their hosts vanish; printed is a "
        f"mean of {TABLE_4[5][0]:.2f} s and a maximum of {TABLE_4[5][2]:.2f} s"
    )
    claim = f"Five brokers that fail at once are recovered within {WITHIN_SECONDS} s (Table 4)"
    return Conclusion(claim, found, max(five.values()) < WITHIN_SECONDS)
