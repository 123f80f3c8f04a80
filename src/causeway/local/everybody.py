"""Ask all brokers of a cluster that can be found from a few addresses.

Owns: who is asked. Must not know: what the answers are for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from causeway.errors import CausewayError
from causeway.local.probe import Probe, nobody_answered

BROKERS_ASKED_MAX: Final = 256
Address = tuple[str, int]


class ClusterReports(NamedTuple):
    """What brokers said, in the order in which they were asked."""

    reports: dict[Address, dict[str, Any]]
    errors: dict[Address, str]
    """Why some did not answer."""


async def ask_everybody(addresses: Sequence[Address]) -> ClusterReports:
    """Ask these brokers, and those they name, until nobody new is named."""
    found: dict[Address, dict[str, Any] | str] = {}
    waiting = list(dict.fromkeys(addresses))

    async def ask(address: Address) -> list[Address]:
        try:
            async with Probe(*address) as probe:
                found[address] = await probe.status()
        except CausewayError as error:
            found[address] = str(error)
            return []
        return [(peer.host, peer.port) for peer in probe.others]

    while waiting and len(found) < BROKERS_ASKED_MAX:
        found.update(dict.fromkeys(waiting, ""))
        named = await asyncio.gather(*(ask(address) for address in waiting))
        waiting = list(dict.fromkeys(address for one in named for address in one if address not in found))
    return ClusterReports(
        {address: said for address, said in found.items() if isinstance(said, dict)},
        {address: said for address, said in found.items() if isinstance(said, str)},
    )


async def reports_of(addresses: Sequence[Address]) -> list[dict[str, Any]]:
    """What all brokers report that can be found from these; at least one."""
    answers = await ask_everybody(addresses)
    if not answers.reports:
        raise nobody_answered(answers.errors.values())
    return list(answers.reports.values())
