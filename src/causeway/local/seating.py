"""Which domains the brokers of a local cluster are started with. Pure.

Owns: what is wished for (a layout, so many domains, or every seat by name) against what the cluster has. Domains of a
broker are only ever added to, so a cluster keeps the shape it began with and new brokers find a place in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from causeway.domains.graph import DomainGraph, check_domain, described_cycle
from causeway.domains.layouts import Layout, domains_for, flat, grown, lay_out
from causeway.domains.limits import DOMAINS_PER_SEAT_MAX, SEATS_PER_DOMAIN_MAX
from causeway.errors import ConfigError


class Seating(msgspec.Struct, frozen=True, kw_only=True):
    """How brokers are to be seated; nothing said: as they are, and all in one domain if they are in none."""

    layout: str | None = None
    """flat, bus, daisy or tree."""
    domains: int | None = None
    """How many; by itself a bus of them."""
    domain: str | None = None
    """Or the name of the one domain that all are in."""
    seats: Layout | None = None
    """Or each broker's domains by name: then there are these brokers."""
    nobody: bool = False
    """New brokers get no seat: a cluster without causal order."""

    def check(self) -> Seating:
        """Return self, or raise a ConfigError that names the first wrong field."""
        wishes = (("layout", self.layout), ("domains", self.domains), ("domain", self.domain))
        rival = "seats" if self.seats is not None else "domain" if self.domain is not None else ""
        for field, value in wishes:
            if rival and field != rival and value is not None:
                raise ConfigError(field, value, f"and --{rival} both give domains; leave --{field} or --{rival} out")
        if self.domain is not None:
            check_domain("domain", self.domain)
        if self.seats is not None:
            self._check_seats(self.seats)
        return self

    def _check_seats(self, seats: Layout) -> None:
        graph = DomainGraph(seats)
        cycle = graph.find_cycle()
        if cycle is not None:
            remedy = "domains must form a tree; take one of these seats out of one of these domains"
            raise ConfigError("seats", described_cycle(cycle), remedy)
        for domain, members in graph.domains.items():
            if len(members) > SEATS_PER_DOMAIN_MAX:
                raise ConfigError(
                    "seats", domain, f"has {len(members)} seats, at most {SEATS_PER_DOMAIN_MAX}; split it"
                )
        for name, domains in seats.items():
            if len(domains) > DOMAINS_PER_SEAT_MAX:
                remedy = f"is in {len(domains)} domains, at most {DOMAINS_PER_SEAT_MAX}; let another broker be a router"
                raise ConfigError("seats", name, remedy)


def seated(had: Layout, new: Sequence[str], wished: Seating) -> Layout:
    """The domains of all brokers: those that are there (`had`, perhaps in no domain) and new ones."""
    known = {name: domains for name, domains in had.items() if domains}
    names = [*had, *new]
    if wished.seats is not None:
        return _kept(known, {name: wished.seats.get(name, known.get(name, ())) for name in names}, "seats", "")
    if wished.domain is not None:
        return _kept(known, flat(names, wished.domain), "domain", wished.domain)
    if wished.layout is not None or wished.domains is not None:
        layout = wished.layout or "bus"
        count = wished.domains
        if count is None:
            count = 1 if layout == "flat" else domains_for(len(names))
        return _kept(known, lay_out(layout, names, count), "layout", layout)
    if wished.nobody:
        return {name: known.get(name, ()) for name in names}
    if not known:
        return flat(names)
    places = grown(known, [name for name in names if name not in known])
    return {name: places[name] for name in names}


def _kept(known: Layout, wanted: Layout, field: str, value: str) -> Layout:
    """What is wanted, if nobody has to leave a domain for it."""
    for name, domains in known.items():
        if not {*domains} <= {*wanted.get(name, ())}:
            has = f"{name} is in {', '.join(domains)} already, and domains are only ever added to"
            remedy = f"{has}; leave --{field} out, or begin anew on another --data"
            raise ConfigError(field, value or ", ".join(wanted.get(name, ())), remedy)
    return wanted
