"""Where items should be, computed for a landmark beside the event loop.

Owns: one computation at a time, in a thread. Must not know: what a plan is for. Whatever fails in here is logged and
costs the plan, never the broker: its landmark asks again. Where the extra `placement` is not installed, that is said
once, and items stay where the ring has them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from causeway.core.effects import PlanItems
from causeway.core.events import Planned
from causeway.core.placing import PlannedItems, PlanRequest
from causeway.extras import ARRAYS, install, missing

log: Final = logging.getLogger("causeway.driver")


class Planning:
    """Start what is asked for; report what comes of it."""

    def __init__(self, post: Callable[[Planned], None]) -> None:
        self._post = post
        self._tasks: dict[bytes, asyncio.Task[None]] = {}
        self._told_missing = False

    def start(self, plans: Sequence[PlanItems]) -> None:
        """Compute these; what a landmark asked for before and has not got is still on its way."""
        if plans and self._is_missing():
            return
        for plan in plans:
            if plan.group not in self._tasks:
                self._tasks[plan.group] = asyncio.get_running_loop().create_task(self._run(plan))

    def stop(self) -> None:
        """Report nothing more. A computation under way ends by itself."""
        for task in self._tasks.values():
            task.cancel()

    def _is_missing(self) -> bool:
        absent = missing(*ARRAYS)
        if absent is not None and not self._told_missing:
            self._told_missing = True
            log.warning(
                "items stay where the ring has them: %s is not installed; to place them by the risk of overload: %s",
                absent,
                install("placement"),
            )
        return absent is not None

    async def _run(self, plan: PlanItems) -> None:
        try:
            planned = await asyncio.get_running_loop().run_in_executor(None, _compute, plan.request)
            self._post(Planned(plan.group, planned))
        except Exception:
            log.exception("the places of %s items could not be computed", len(plan.request.items))
        finally:
            del self._tasks[plan.group]


def _compute(request: PlanRequest) -> PlannedItems:
    """In a thread. What it needs is loaded here, for nobody but a landmark needs it."""
    from causeway.placement.live import plan_live

    return plan_live(request)
