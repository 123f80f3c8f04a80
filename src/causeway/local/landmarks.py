"""What the landmarks of a running cluster have measured, and policies that are proposed to them.

Must not know: how a policy is computed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from causeway.core.placing import NOBODY, PlannedItems, PlanRequest
from causeway.errors import CausewayError, Code, DeadlineExceeded, Refused
from causeway.local.everybody import Address, ask_everybody
from causeway.local.probe import Probe

PROPOSE_SECONDS_MAX: Final = 20.0
_PAUSE_SECONDS: Final = 0.5
_NOT_YET: Final = frozenset({Code.NOT_OWNER, Code.UNAVAILABLE})
"""Another landmark is being elected, or this one has no majority: worth asking again."""


def domain_loads(reports: Iterable[Mapping[str, Any]]) -> dict[str, PlanRequest]:
    """What the latest landmark of each domain has measured."""
    latest: dict[str, tuple[int, Mapping[str, Any]]] = {}
    for report in reports:
        for one in report.get("agents", []):
            domain, term = str(one.get("domain", "")), int(one.get("term", 0))
            if "load" in one and term >= latest.get(domain, (0, {}))[0]:
                latest[domain] = (term, one["load"])
    return {domain: _request_of(load) for domain, (_, load) in sorted(latest.items())}


def _request_of(load: Mapping[str, Any]) -> PlanRequest:
    brokers = tuple(load["brokers"])
    numbers = {"": NOBODY, **{name: at for at, name in enumerate(brokers)}}
    return PlanRequest(
        items=tuple(load["items"]),
        brokers=brokers,
        capacities=tuple(int(capacity) for capacity in load["brokers"].values()),
        samples=tuple(tuple(row) for row in load["samples"]),
        owners=tuple(numbers[name] for name in load["owners"]),
        mirrors=tuple(numbers[name] for name in load["mirrors"]),
        threshold=round(1000 * float(load["threshold"])),
    )


async def propose_policy(
    addresses: Sequence[Address], domain: str, plan: PlannedItems, seconds_max: float = PROPOSE_SECONDS_MAX
) -> int:
    """Have the landmark of a domain take a policy; the version under which agents have it. Raises Refused."""
    deadline = time.monotonic() + seconds_max
    while True:
        try:
            async with Probe(*await _landmark(addresses, domain)) as probe:
                return await probe.propose(domain, plan)
        except Refused as error:
            if error.code not in _NOT_YET or time.monotonic() > deadline:
                raise
        except CausewayError:
            if time.monotonic() > deadline:
                raise
        await asyncio.sleep(_PAUSE_SECONDS)


async def _landmark(addresses: Sequence[Address], domain: str) -> Address:
    """Where the latest landmark of a domain is."""
    reports = (await ask_everybody(addresses)).reports
    terms = {
        address: int(one["term"])
        for address, report in reports.items()
        for one in report.get("agents", [])
        if one.get("domain") == domain and "load" in one
    }
    if not terms:
        raise DeadlineExceeded(f"domain {domain!r} has no landmark that answers; `causeway status` shows its brokers")
    return max(terms, key=lambda address: terms[address])
