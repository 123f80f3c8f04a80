"""The management plane at one broker (ports.Management): its agent in each domain, and the domains it is landmark of.

Owns: which of the two something is for, and which seats we say that we hold. Must not know: what is in a group.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from contextlib import suppress

import msgspec

from causeway.config import BrokerConfig
from causeway.core.agents.agent import Agent
from causeway.core.agents.faults import agent_fault, plan_fault
from causeway.core.agents.landmark import Landmark
from causeway.core.agents.lookout import Lookout
from causeway.core.agents.proposals import Asker
from causeway.core.deadlines import Alarm
from causeway.core.events import Measured, MembershipChanged, OwnershipGained, OwnershipLost, PeerMessage, Planned
from causeway.core.machine import Turn
from causeway.core.messages import (
    AgentCard,
    Config,
    DomainDirectory,
    ItemPolicy,
    Measure,
    PolicyTaken,
    ProposePolicy,
    ToLandmark,
)
from causeway.core.placing import PlannedItems
from causeway.core.ports import Courier, Gauge, ReplicaGroups, SeatedLinks
from causeway.errors import Code
from causeway.limits import CAPABILITY_USUAL, SEATS_HELD_MAX
from causeway.names import AGENTS_PREFIX, agents_name, is_agents
from causeway.topics import is_ordinary_item
from causeway.types import BrokerId, Instant, Key, Peer, key_of

_plan_decoder = msgspec.msgpack.Decoder(PlannedItems)


class BrokerAgents:
    """All domains of one broker."""

    def __init__(
        self, config: BrokerConfig, links: SeatedLinks, groups: ReplicaGroups, *, rng: random.Random, alarm: Alarm
    ) -> None:
        self._config = config
        self._links = links
        self._groups = groups
        self._rng = rng
        self._alarm = alarm
        self._agents: dict[str, Agent] = {}
        self._landmarks: dict[Key, Landmark] = {}
        self._card = AgentCard(links.me, config.spare, config.capability or CAPABILITY_USUAL, config.capacity, 1000)
        alarm.watch(self._next_look)

    def open(self, courier: Courier, published: Callable[[], Iterable[tuple[str, int]]], gauge: Gauge) -> None:
        """Before anything else is asked: agents speak through the courier, which asks us back, and tell their landmarks
        what is published to the items we own, and what falls behind."""
        whose = (self._config.name, self._links.me.id, self._config.domains)
        self._lookout = Lookout(*whose, gauge=gauge, courier=courier, alarm=self._alarm)
        for domain in self._config.domains:
            self._agents[domain] = Agent(
                domain,
                self._card_in(domain),
                self._links,
                courier,
                published=published,
                rates_every=self._config.rates_every,
                rng=self._rng,
                alarm=self._alarm,
            )

    def _card_in(self, domain: str) -> AgentCard:
        return msgspec.structs.replace(self._card, home=domain == self._config.domains[0])

    @property
    def groups(self) -> dict[Key, Landmark]:
        """Domains whose landmark we are, by their groups."""
        return self._landmarks

    # Ownership of the groups of agents -------------------------------------------------------------------------
    def gain(self, turn: Turn, event: OwnershipGained) -> bool:
        """We own a group; whether it is one of agents: then we are landmark."""
        name = event.config.name
        if not is_agents(name):
            return False
        domain = name[len(AGENTS_PREFIX) :]
        landmark = Landmark(domain, event.group, self._groups, self._links, self._config, told=self._learn_own)
        self._landmarks[event.group] = landmark
        landmark.gain(turn, event)
        self._learn_own(turn, landmark)
        self._look(landmark)
        return True

    def resume(self, turn: Turn, group: Key) -> None:
        """A new epoch, still ours: what could not be written can be now."""
        landmark = self._landmarks[group]
        landmark.reconsider(turn)
        self._look(landmark)

    def lose(self, turn: Turn, group: Key) -> None:
        """Another broker is landmark."""
        self._landmarks.pop(group).lose(turn)

    def on_planned(self, turn: Turn, event: Planned) -> None:
        """Our driver has computed where items should be."""
        landmark = self._landmarks.get(Key(event.group))
        if landmark is not None:
            landmark.on_planned(turn, event.plan)
            self._look(landmark)

    def _learn_own(self, turn: Turn, landmark: Landmark) -> None:
        self._learn(turn, landmark.told)
        if landmark.policy is not None:
            self._learn_policy(turn, landmark.domain, *landmark.policy)

    def propose(self, turn: Turn, conn: int, head: ProposePolicy, body: bytes) -> None:
        """A client proposes places for the items of a domain; only its landmark can take them."""
        fault = agent_fault(head)
        landmark = None if fault else self._landmarks.get(key_of(agents_name(head.domain)))
        if landmark is None:
            detail = fault or f"domain={head.domain!r}: its landmark is another broker; `causeway status` names it"
            code = Code.BAD_FIELD if fault else Code.NOT_OWNER
            turn.send(conn, PolicyTaken(head.token, "" if fault else head.domain, 0, code, detail))
            return
        try:
            plan = _plan_decoder.decode(body)
        except msgspec.MsgspecError as error:
            turn.send(conn, PolicyTaken(head.token, head.domain, 0, Code.BAD_FRAME, f"body: is no policy ({error})"))
            return
        landmark.on_proposed(turn, plan, Asker(conn, head.token))

    # Messages --------------------------------------------------------------------------------------------------
    def arrived(self, turn: Turn, key: Key, head: ToLandmark) -> bool:
        """A message for a landmark; False when it must wait until we may write."""
        landmark = self._landmarks.get(key)
        if landmark is None:
            return False
        if agent_fault(head) is None and landmark.domain == head.domain:
            landmark.arrived(turn, head)
            self._look(landmark)
        return True

    def on_peer_message(self, turn: Turn, event: PeerMessage) -> None:
        """A landmark's word."""
        head = event.head
        if agent_fault(head) is not None:
            return
        if isinstance(head, DomainDirectory) and head.landmark == event.peer.id:
            self._learn(turn, head)
        elif isinstance(head, Measure) and head.domain in self._agents:
            self._agents[head.domain].on_measure(turn, head)
        elif isinstance(head, ItemPolicy) and head.landmark == event.peer.id:
            with suppress(msgspec.MsgspecError):
                plan = _plan_decoder.decode(event.body)
                if plan_fault(plan) is None:
                    self._learn_policy(turn, head.domain, head.version, plan)

    def _learn_policy(self, turn: Turn, domain: str, version: int, plan: PlannedItems) -> None:
        agent = self._agents.get(domain)
        if agent is not None and agent.places.learn(version, plan):
            turn.tell(MembershipChanged())  # items we own may have to go elsewhere

    def _learn(self, turn: Turn, head: DomainDirectory) -> None:
        agent = self._agents.get(head.domain)
        if agent is not None and agent.learn(turn, head):
            self._say_seats(turn)

    def _say_seats(self, turn: Turn) -> None:
        """The seats we hold, as others should know: our own until a landmark says otherwise."""
        held = [seats for agent in self._agents.values() if (seats := agent.seats()) is not None]
        if held:
            seats = tuple(dict.fromkeys(seat for part in held for seat in part))
            self._links.hold_seats(turn, seats[:SEATS_HELD_MAX])  # more of them nobody would believe

    # Facts -----------------------------------------------------------------------------------------------------
    def on_joined(self, turn: Turn) -> None:
        """We are in the ring."""
        for agent in self._agents.values():
            agent.start(turn)
        self._lookout.start(turn)

    def leave(self, turn: Turn) -> None:
        """We go for good: our landmarks are to forget us, and our seats."""
        self._card = msgspec.structs.replace(self._card, leaving=True)
        for agent in self._agents.values():
            agent.leave(turn, self._card_in(agent.domain))

    @property
    def lingering(self) -> bool:
        """Whether we are leaving and a landmark still counts on us."""
        return any(agent.lingering for agent in self._agents.values())

    def on_link(self, turn: Turn, peer: Peer, *, up: bool) -> None:
        """A link came up or broke."""
        for agent in self._agents.values():
            agent.on_link(turn, peer.id, up=up)
        for landmark in self._landmarks.values():
            landmark.on_link(turn, peer.id, up=up)
            self._look(landmark)

    def on_owned(self, turn: Turn, group: Key, config: Config) -> None:
        """We own a group, in a new epoch."""
        for agent in self._agents.values():
            if not is_ordinary_item(config.name) or agent is self._home():
                agent.told.owned(group, config)
                agent.on_holdings(turn)

    def on_lost(self, turn: Turn, event: OwnershipLost) -> None:
        """We own a group no longer."""
        for agent in self._agents.values():
            agent.told.lost(event.group, event.config, stays=agent.card_of(event.config.owner) is not None)
            agent.on_holdings(turn)
        self._lookout.forget(turn, event.config.name)

    def on_fitness(self, turn: Turn, event: Measured) -> None:
        """Our driver has measured our machine."""
        self._card = msgspec.structs.replace(
            self._card, fitness=event.fitness, capacity=self._config.capacity or event.capacity
        )
        for agent in self._agents.values():
            agent.update(turn, self._card_in(agent.domain))

    # Questions -------------------------------------------------------------------------------------------------
    def wanted(self, name: str) -> list[Peer] | None:
        """Who should hold a group, if it is one of agents or an item that a policy places: the owner first."""
        if not is_agents(name):
            home = self._home() if is_ordinary_item(name) else None
            return home.placed(name, self._groups.suspects) if home is not None else None
        landmark = self._landmarks.get(key_of(name))
        if landmark is not None:
            return [card.peer for card in landmark.voters()]
        agent = self._agents.get(name[len(AGENTS_PREFIX) :])
        return agent.voters() if agent is not None else []

    def domain_of(self, broker: BrokerId) -> str:
        """The one of our domains that a broker is at home in, or else in; empty when it is in none of them."""
        found = [
            (domain, card) for domain, agent in self._agents.items() if (card := agent.card_of(broker)) is not None
        ]
        return next((domain for domain, card in found if card.home), found[0][0] if found else "")

    def _home(self) -> Agent | None:
        """The domain whose landmark places our items: where we hold a seat that is given some, or the first."""
        held = (agent for agent in self._agents.values() if agent.is_home)
        return next(held, next(iter(self._agents.values()), None))

    # Time ------------------------------------------------------------------------------------------------------
    def _look(self, landmark: Landmark) -> None:
        due = landmark.next_deadline()
        if due is not None:
            self._alarm.lower(due)

    def _next_look(self) -> Instant | None:
        return min((due for one in self._landmarks.values() if (due := one.next_deadline()) is not None), default=None)

    def next_deadline(self) -> Instant | None:
        due = [at for agent in self._agents.values() if (at := agent.next_deadline()) is not None]
        looks = (self._next_look(), self._lookout.next_deadline())
        return min([*due, *(look for look in looks if look is not None)], default=None)

    def on_deadline(self, turn: Turn) -> None:
        self._lookout.on_deadline(turn)
        for agent in self._agents.values():
            agent.on_deadline(turn)
        for landmark in self._landmarks.values():
            landmark.reconsider(turn)

    def statistics(self, now: Instant) -> list[dict[str, object]]:
        """Each domain as it is seen from here; where we are landmark, also what only that one knows."""
        found = []
        for domain, agent in self._agents.items():
            landmark = self._landmarks.get(key_of(agents_name(domain)))
            blocked = self._groups.blocked(key_of(agents_name(domain)))
            more = landmark.statistics(now) if landmark is not None else {}
            found.append({**agent.statistics(), "blocked": blocked, **more})
        return found
