"""Tables that people write: who talks to whom, and who sits in which domains. Text in, values out.

Traffic is CSV with a line of titles, or JSON: an array of objects, or an object per line. Columns: from, to, rate
(messages per second) and, if applications have seats, from_seat and to_seat. Seats are a JSON object, name -> list of
domains.
Owns: what is allowed in them, and where the first mistake is. Must not know: files, what is done with them.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from causeway.domains.graph import check_domain
from causeway.domains.layouts import Layout
from causeway.errors import ConfigError
from causeway.names import check_name

NEEDED: Final = ("from", "to", "rate")
SEATED: Final = ("from_seat", "to_seat")

_FORM: Final = "columns are from, to, rate (messages per second) and, if wanted, from_seat and to_seat"


class TrafficTable(msgspec.Struct, frozen=True):
    """Who talks to whom: applications, or the seats they have."""

    units: tuple[str, ...]
    rates: tuple[tuple[str, str, float], ...]
    seated: bool
    """Whether the units are seats."""


def read_traffic(text: str) -> TrafficTable:
    """The table in a text, or a ConfigError that says where it is wrong."""
    rows = list(_json_rows(text) if text.lstrip()[:1] in ("[", "{") else _csv_rows(text))
    if not rows:
        raise ConfigError("table", "", f"has no rows; {_FORM}")
    seated = any(row.get(column) not in (None, "") for _where, row in rows for column in SEATED)
    seats: dict[str, str] = {}
    rates: list[tuple[str, str, float]] = []
    for where, row in rows:
        rate = _rate(where, row.get("rate"))
        ends = [_unit(where, row, column, seats if seated else None) for column in ("from", "to")]
        rates.append((ends[0], ends[1], rate))
    units = dict.fromkeys(unit for source, dest, _rate in rates for unit in (source, dest))
    return TrafficTable(tuple(units), tuple(rates), seated)


def read_seats(field: str, text: str) -> Layout:
    """Who sits in which domains, as `plan domains --out` writes it."""
    try:
        found = msgspec.json.decode(text.encode(), type=dict[str, list[str]])
    except msgspec.DecodeError as error:
        remedy = f'must be a JSON object, name -> list of domains, like {{"b1": ["d1", "d2"]}} ({error})'
        raise ConfigError(field, _excerpt(text), remedy) from error
    seats: Layout = {}
    for name, domains in found.items():
        check_name(field, name)
        if not domains or len(dict.fromkeys(domains)) < len(domains):
            raise ConfigError(f"{field}, {name}", domains, "must be one or more different domains")
        seats[name] = tuple(check_domain(f"{field}, {name}", domain) for domain in domains)
    if not seats:
        raise ConfigError(field, _excerpt(text), "names nobody; give name -> list of domains")
    return seats


def written_seats(seats: Mapping[str, tuple[str, ...]]) -> str:
    """What `read_seats` reads, one line per name."""
    lines = (f"  {_json(name)}: {_json(list(domains))}" for name, domains in seats.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def seats_of(domains: Mapping[str, list[str]]) -> Layout:
    """The same from the other side: members of each domain, as a broker's status has it."""
    seats: dict[str, list[str]] = {}
    for domain, members in domains.items():
        for name in members:
            seats.setdefault(name, []).append(domain)
    return {name: tuple(mine) for name, mine in seats.items()}


# Inside -------------------------------------------------------------------------------------------------------------
def _csv_rows(text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    reader = csv.reader(text.splitlines(), skipinitialspace=True)
    try:
        titles = [title.strip() for title in next(reader, [])]
        _check_columns("line 1", titles)
        for row in reader:
            where = f"line {reader.line_num}"
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(titles):
                remedy = f"has {len(row)} columns, the first line has {len(titles)} ({', '.join(titles)})"
                raise ConfigError(where, ",".join(row), remedy)
            yield where, {title: cell.strip() for title, cell in zip(titles, row, strict=True)}
    except csv.Error as error:
        raise ConfigError(f"line {reader.line_num}", str(error), "is not CSV; mind the quotes") from error


def _json_rows(text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if text.lstrip().startswith("["):
        values = enumerate(_decoded("table", text), 1)
        rows = ((f"row {number}", value) for number, value in values)
    else:
        lines = ((f"line {number}", line) for number, line in enumerate(text.splitlines(), 1) if line.strip())
        rows = ((where, _decoded(where, line)) for where, line in lines)
    for where, value in rows:
        if not isinstance(value, dict):
            raise ConfigError(where, value, f"must be an object; {_FORM}")
        _check_columns(where, list(value))
        yield where, value


def _decoded(where: str, text: str) -> Any:
    try:
        return msgspec.json.decode(text.encode())
    except msgspec.DecodeError as error:
        raise ConfigError(
            where, _excerpt(text), f"is not JSON ({error}); give an array, or an object per line"
        ) from error


def _check_columns(where: str, columns: list[str]) -> None:
    for column in columns:
        if column not in (*NEEDED, *SEATED):
            raise ConfigError(f"{where}, column", column, _FORM)
        if columns.count(column) > 1:
            raise ConfigError(f"{where}, column", column, "is there twice")
    for column in NEEDED:
        if column not in columns:
            raise ConfigError(f"{where}, column", column, f"is missing; {_FORM}")


def _rate(where: str, value: Any) -> float:
    try:
        rate = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        rate = math.nan
    if not (math.isfinite(rate) and rate >= 0):
        raise ConfigError(f"{where}, rate", value, "must be messages per second, a number, 0 or more")
    return rate


def _unit(where: str, row: Mapping[str, Any], column: str, seats: dict[str, str] | None) -> str:
    """The application in a column, or its seat; `seats` are those of the lines before."""
    name = _name(where, column, row.get(column))
    if seats is None:
        return name
    seat = row.get(f"{column}_seat")
    if seat in (None, ""):
        if name not in seats:
            remedy = f"{name} has no seat, others have; give the seat of each application, or of none"
            raise ConfigError(f"{where}, {column}_seat", seat, remedy)
        return seats[name]
    seat = _name(where, f"{column}_seat", seat)
    if seats.setdefault(name, seat) != seat:
        remedy = f"{name} had the seat {seats[name]} before; an application has one seat, for good"
        raise ConfigError(f"{where}, {column}_seat", seat, remedy)
    return seat


def _name(where: str, column: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{where}, {column}", value, "must be a name")
    return check_name(f"{where}, {column}", value)


def _excerpt(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
