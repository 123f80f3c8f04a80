"""Which workload is behind which name."""

from __future__ import annotations

from causeway.sim.workloads.base import Workload
from causeway.sim.workloads.browsing import Looking
from causeway.sim.workloads.causal import CausalTalk
from causeway.sim.workloads.critical import CriticalTopics
from causeway.sim.workloads.offline import Offline
from causeway.sim.workloads.poison import Poison
from causeway.sim.workloads.queue import Queue
from causeway.sim.workloads.relay import Relay
from causeway.sim.workloads.streams import Express, Recoverable, Transactional
from causeway.sim.workloads.topics import Topics
from causeway.sim.workloads.transfer import TokenMoves

CATALOGUE: dict[str, type[Workload]] = {
    "transactional": Transactional,
    "recoverable": Recoverable,
    "express": Express,
    "offline": Offline,
    "queue": Queue,
    "transfer": TokenMoves,
    "relay": Relay,
    "poison": Poison,
    "browsing": Looking,
    "topics": Topics,
    "critical": CriticalTopics,
    "causal": CausalTalk,
}
