"""How items are placed at present: asked of a running cluster, or read from a file that people write.

Owns: what a question about placement needs beside rates. Must not know: where rates come from, what is answered.
"""

from __future__ import annotations

import asyncio
import math

import msgspec

from causeway.client.url import parse_url
from causeway.core.placing import NOBODY, PlanRequest
from causeway.errors import ConfigError
from causeway.lake.locations import locate
from causeway.local.everybody import reports_of
from causeway.local.landmarks import domain_loads


class _Described(msgspec.Struct):
    """The parts of a table of `causeway plan placement` that say who is there; others are not looked at."""

    brokers: dict[str, float]
    present: dict[str, list[str]] = {}


def running_placements(url: str) -> dict[str, PlanRequest]:
    """By domain, as the landmarks of a cluster have it."""
    found = domain_loads(asyncio.run(reports_of(parse_url(url))))
    if not found:
        raise ConfigError("set url", url, "no landmark answered: its brokers are in no domain, or it is being elected")
    return found


def described_placement(path: str) -> PlanRequest:
    """From a JSON file with "brokers" (name -> messages/s) and "present" (item -> [owner, mirror], or [owner])."""
    try:
        told = msgspec.json.decode(locate(path).read(), type=_Described)
    except OSError as error:
        raise ConfigError("set placement", path, f"cannot be read ({error.strerror})") from error
    except msgspec.MsgspecError as error:
        raise ConfigError("set placement", path, f"is no description of brokers and their items ({error})") from error
    numbers = {name: at for at, name in enumerate(told.brokers)}
    for name, capacity in told.brokers.items():
        if not (math.isfinite(capacity) and capacity >= 1):
            remedy = "must be messages per second, 1 or more; leave a broker out that can take nothing"
            raise ConfigError(f"set placement, brokers, {name}", capacity, remedy)
    for item, holders in told.present.items():
        if not 1 <= len(holders) <= 2:
            raise ConfigError(f"set placement, present, {item}", holders, "must be [owner] or [owner, mirror]")
        for name in holders:
            if name not in numbers:
                raise ConfigError(f"set placement, present, {item}", name, "is none of the brokers; add it to them")
    return PlanRequest(
        items=tuple(told.present),
        brokers=tuple(told.brokers),
        capacities=tuple(round(capacity) for capacity in told.brokers.values()),
        samples=(),
        owners=tuple(numbers[holders[0]] for holders in told.present.values()),
        mirrors=tuple(numbers[holders[1]] if len(holders) > 1 else NOBODY for holders in told.present.values()),
    )
