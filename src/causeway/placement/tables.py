"""Descriptions that people write: brokers, items, rates and the present placement. Text in, values out.

JSON is one object: "brokers" (name -> capacity in messages/s), "topics" (names, in the order of the numbers), either
"samples" (an array of rows, a rate per topic in each) or "means" and "covariance", and if wanted "items" (name ->
topics; without, every topic is an item) and "present" (item -> [owner, mirror], or [owner]). Who knows rates of items
alone gives "items" as names, in the order of the numbers, and no "topics". CSV has the same as lines
that begin with what they are: broker,NAME,CAPACITY / topics,NAME,... / sample,RATE,... / means,RATE,... /
covariance,NUMBER,... (a line per topic) / item,NAME,TOPIC,... / present,ITEM,OWNER[,MIRROR].

Owns: what is allowed in them, and where the first mistake is. Must not know: files, what is done with them.
"""

from __future__ import annotations

import csv
from typing import Final

import msgspec

from causeway.errors import ConfigError
from causeway.placement.instance import BrokerCapacity
from causeway.placement.policy import PlacementPolicy
from causeway.placement.rates import LoadModel, from_moments, from_samples

LINES: Final = ("broker", "topics", "sample", "means", "covariance", "item", "present")


class _Written(msgspec.Struct, forbid_unknown_fields=True):
    """The object in a JSON text; what CSV is collected into."""

    brokers: dict[str, float] = {}
    topics: list[str] = []
    items: dict[str, list[str]] | list[str] | None = None
    samples: list[list[float]] | None = None
    means: list[float] | None = None
    covariance: list[list[float]] | None = None
    present: dict[str, list[str]] | None = None


class Description(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What a table says."""

    model: LoadModel
    brokers: list[BrokerCapacity]
    present: PlacementPolicy | None


def read_description(text: str) -> Description:
    """The description in a text, or a ConfigError that says where it is wrong."""
    written = _from_json(text) if text.lstrip()[:1] in ("{", "[") else _from_csv(text)
    if not written.brokers:
        raise ConfigError("brokers", None, "there are none; give every broker with its capacity in messages per second")
    topics, items = _placed(written)
    if not topics:
        raise ConfigError("topics", None, "there are none; name the topics in the order of their rates")
    brokers = [BrokerCapacity(name, capacity) for name, capacity in written.brokers.items()]
    return Description(model=_model(written, topics, items), brokers=brokers, present=_present(written))


def _placed(written: _Written) -> tuple[list[str], dict[str, list[str]] | None]:
    """Whose rates they are, and which of those stay together."""
    if not isinstance(written.items, list):
        return written.topics, written.items
    if written.topics:
        raise ConfigError("items", written.items, "are names and there are topics; give item -> topics, or no topics")
    return written.items, None


def _model(written: _Written, topics: list[str], items: dict[str, list[str]] | None) -> LoadModel:
    moments = written.means is not None or written.covariance is not None
    if (written.samples is not None) == moments:
        raise ConfigError("rates", "", "give either samples, or means and covariance")
    if written.samples is not None:
        return from_samples(written.samples, topics, items)
    if written.means is None or written.covariance is None:
        missing = "means" if written.means is None else "covariance"
        raise ConfigError(missing, "", "is missing; means and covariance go together")
    return from_moments(written.means, written.covariance, topics, items)


def _present(written: _Written) -> PlacementPolicy | None:
    if written.present is None:
        return None
    owners, mirrors = {}, {}
    for item, places in written.present.items():
        if len(places) not in (1, 2):
            raise ConfigError(f"present, {item}", places, "must be an owner and, if there is one, a mirror")
        owners[item] = places[0]
        if len(places) == 2 and places[1]:
            mirrors[item] = places[1]
    return PlacementPolicy(owners=owners, mirrors=mirrors)


def _from_json(text: str) -> _Written:
    try:
        return msgspec.json.decode(text.encode(), type=_Written)
    except msgspec.DecodeError as error:
        raise ConfigError("table", text[:60], f"is not a description of brokers and rates ({error})") from error


def _from_csv(text: str) -> _Written:
    written = _Written()
    reader = csv.reader(text.splitlines(), skipinitialspace=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            while cells and not cells[-1]:
                cells.pop()
            if cells and not cells[0].startswith("#"):
                _take_line(written, f"line {reader.line_num}", cells[0], cells[1:])
    except csv.Error as error:
        raise ConfigError(f"line {reader.line_num}", str(error), "is not CSV; mind the quotes") from error
    return written


def _take_line(written: _Written, where: str, kind: str, cells: list[str]) -> None:
    if kind not in LINES:
        raise ConfigError(where, kind, f"must begin with one of {', '.join(LINES)}")
    if not cells:
        raise ConfigError(where, kind, "has nothing after it")
    if kind == "broker":
        if len(cells) != 2 or cells[0] in written.brokers:
            raise ConfigError(where, ",".join(cells), "must be broker,NAME,CAPACITY, each broker once")
        written.brokers[cells[0]] = _number(where, cells[1])
    elif kind == "topics":
        written.topics = [*written.topics, *cells]
    elif kind == "sample":
        written.samples = [*(written.samples or []), [_number(where, cell) for cell in cells]]
    elif kind == "means":
        written.means = [*(written.means or []), *(_number(where, cell) for cell in cells)]
    elif kind == "covariance":
        written.covariance = [*(written.covariance or []), [_number(where, cell) for cell in cells]]
    else:
        taken = written.items if kind == "item" else written.present
        found = taken if isinstance(taken, dict) else {}
        if cells[0] in found or len(cells) < 2:
            raise ConfigError(where, ",".join(cells), f"must be {kind},NAME and something, each name once")
        found[cells[0]] = cells[1:]
        if kind == "item":
            written.items = found
        else:
            written.present = found


def _number(where: str, cell: str) -> float:
    try:
        return float(cell)
    except ValueError as error:
        raise ConfigError(where, cell, "must be a number") from error
