"""What `rates` writes beside its tables: moments of items, a file for `causeway plan placement`, a summary, a figure.

Owns: these files. Must not know: how anything was computed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from causeway.errors import ConfigError
from causeway.figures import Curve, Figure
from causeway.lake.days import DAY_SECONDS, day_name
from causeway.lake.locations import locate
from causeway.pipeline.frame import JobRequest, number_option, write_small_table
from causeway.pipeline.grid import Grid, Periods, time_name
from causeway.pipeline.measured_model import MeasuredModel, write_model
from causeway.pipeline.moments import Moments
from causeway.pipeline.rates_events import EventsSaid
from causeway.placement.limits import CAPACITY_NOMINAL

POINTS_MAX: Final = 400
"""Points of a curve; more periods are taken together."""
SHOWN_MAX: Final = 5
STATED_MAX: Final = 20
"""Spans and days in the summary; it says how many more there are."""


class MeasuredItem(NamedTuple):
    """What is known of an item beside its rate."""

    owner: str
    """Broker that wrote about it last."""
    topics: int


def write(
    request: JobRequest,
    periods: Periods,
    items: Mapping[str, MeasuredItem],
    moments: Moments,
    brokers: Iterable[str],
) -> tuple[str, ...]:
    """Tables `periods`, `items` and `covariance` (a row per pair that has any), and the file for a placement. `brokers`
    are those that wrote anything."""
    covariance = moments.covariance()
    names = np.array(list(items), dtype=object)
    left, right = np.nonzero(np.triu(covariance))
    tables = {
        "periods": {
            "period": periods.numbers,
            "second": periods.begins,
            "windows": periods.windows,
            "messages": periods.messages,
            "rate": periods.rates,
            "peak": periods.peak,
        },
        "items": {
            "item": names,
            "owner": [item.owner for item in items.values()],
            "topics": [item.topics for item in items.values()],
            "mean": moments.mean,
            "deviation": np.sqrt(np.diag(covariance)),
        },
        "covariance": {
            "item": pa.array(names[left], pa.string()),
            "other": pa.array(names[right], pa.string()),
            "covariance": covariance[left, right],
        },
    }
    for name, columns in tables.items():
        write_small_table(pa.table(columns), request.out, name)
    names_of_brokers = sorted({*brokers, *(item.owner for item in items.values())})
    return (*tables, _write_model(request, items, moments, names_of_brokers))


def _write_model(request: JobRequest, items: Mapping[str, MeasuredItem], moments: Moments, brokers: list[str]) -> str:
    """Means and covariance for the job `risk`, with all else that `causeway plan placement` reads."""
    measured = MeasuredModel(
        items=list(items),
        means=moments.mean.tolist(),
        covariance=moments.covariance().tolist(),
        brokers=_capacities(request, brokers, {item.owner for item in items.values()}),
        present={name: [item.owner] for name, item in items.items()},
    )
    return write_model(request.out, measured)


def _capacities(request: JobRequest, writers: list[str], owners: Collection[str]) -> dict[str, float]:
    """What each broker sustains: from a file, or the same for those that wrote. Items may move to one that has none."""
    path = request.options.get("brokers")
    if path is None:
        capacity = number_option(request, "capacity", CAPACITY_NOMINAL, 1e-9, 1e12)
        return dict.fromkeys(writers, capacity)
    try:
        given = msgspec.json.decode(locate(path).read(), type=dict[str, float])
    except OSError as error:
        raise ConfigError("set brokers", path, f"{error.strerror}; give a file that you may read") from error
    except msgspec.DecodeError as error:
        remedy = f'must be a JSON object, broker -> messages/s, like {{"b1": 12000}} ({error})'
        raise ConfigError("set brokers", path, remedy) from error
    missing = [name for name in writers if name not in given and name in owners]
    if missing:
        raise ConfigError("set brokers", path, f"lacks {missing[0]}, which owns items; give its capacity")
    return given


def summarise(grid: Grid, periods: Periods, items: Mapping[str, MeasuredItem], moments: Moments) -> dict[str, Any]:
    """The answer in short."""
    names = list(items)
    deviations = np.sqrt(np.diag(moments.covariance()))
    busiest = np.argsort(-periods.rates, kind="stable")[:SHOWN_MAX]
    largest = np.argsort(-moments.mean, kind="stable")[:SHOWN_MAX]
    return {
        "topics": sum(item.topics for item in items.values()),
        "items": len(items),
        "messages": int(periods.messages.sum()),
        "interval": grid.interval,
        "windows": grid.windows,
        "spans": [f"{time_name(first)} to {time_name(last)}" for first, last in grid.spans[:STATED_MAX]],
        "spans_more": max(0, len(grid.spans) - STATED_MAX),
        "days_left_out": [day_name(day) for day in grid.days_left_out[:STATED_MAX]],
        "days_left_out_more": max(0, len(grid.days_left_out) - STATED_MAX),
        "periods": len(periods.numbers),
        "peak_periods": int(periods.peak.sum()),
        "peak_from_rate": periods.threshold,
        "peak_windows": moments.size,
        "busiest_periods": {time_name(int(periods.begins[at])): float(periods.rates[at]) for at in busiest},
        "peak_mean_of_all_items": float(moments.mean.sum()),
        "largest_items": {
            names[at]: {"mean": float(moments.mean[at]), "deviation": float(deviations[at])} for at in largest
        },
    }


def summarise_events(items: Mapping[str, MeasuredItem], events: EventsSaid) -> dict[str, Any]:
    """What is not in the rates: brokers without items, and what nobody subscribed to."""
    owners = {item.owner for item in items.values()}
    idle = [name for name in events.brokers if name not in owners]
    return {
        "brokers": len(owners) + len(idle),
        "brokers_without_items": idle[:STATED_MAX],
        "brokers_without_items_more": max(0, len(idle) - STATED_MAX),
        "left_out_without_subscribers": {"topics": events.unwanted_topics, "messages": events.unwanted_messages},
    }


def figures(periods: Periods) -> tuple[Figure, ...]:
    """The rate of everything over time, and what of it counts as the peak."""
    begin = int(periods.begins[0])
    width = max(1, -(-len(periods.numbers) // POINTS_MAX))
    starts = np.arange(0, len(periods.numbers), width)
    unit, seconds = _unit(int(periods.begins[-1]) - begin)
    times = (periods.begins[starts] - begin) / seconds
    rates = np.maximum.reduceat(periods.rates, starts)
    peak = np.logical_or.reduceat(periods.peak, starts)
    curves = (
        Curve("all items", tuple(times.tolist()), tuple(rates.tolist()), marked=False),
        Curve("peak periods", tuple(times[peak].tolist()), tuple(rates[peak].tolist()), joined=False),
    )
    return (
        Figure(
            name="rates",
            title="Rate of all items together",
            x_label=f"{unit} since {time_name(begin)}",
            y_label="messages per second",
            curves=curves,
            scale="linear",
        ),
    )


def _unit(seconds: int) -> tuple[str, int]:
    """In which unit of time, of so many seconds, people read a stretch of this length."""
    units = (("seconds", 1), ("minutes", 60), ("hours", 3600), ("days", DAY_SECONDS))
    return next((one for one in reversed(units) if seconds >= 4 * one[1]), units[0])
