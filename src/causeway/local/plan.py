"""Which brokers a local cluster has, and how each is started. Pure.

Owns: names and ports of new brokers, their domains, who is a spare, the command line of a broker, and who may found the
cluster. Two founders would be two clusters: a broker founds only when nothing of the cluster can be left anywhere.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from causeway.config import BrokerConfig
from causeway.domains.limits import DOMAINS_PER_SEAT_MAX
from causeway.errors import ConfigError
from causeway.local.runfile import BrokerEntry, RunFile
from causeway.local.seating import Seating, seated
from causeway.local.settings import settings_of

BROKERS_MAX: Final = 64
"""Processes on one machine; more belongs in the simulator."""
COPIES_MAX: Final = 7
BROKERS_DEFAULT: Final = 3
COPIES_DEFAULT: Final = 3


def plan(
    found: RunFile | None,
    *,
    brokers: int | None = None,
    spares: int | None = None,
    durability: str | None = None,
    copies: int | None = None,
    port: int | None = None,
    prefix: str = "broker-",
    settings: Mapping[str, str] | None = None,
    seating: Seating | None = None,
) -> RunFile:
    """What to run in a data directory: the cluster found there (grown when asked to), or a new one.

    `spares` come on top of `brokers`, and stand by in every domain there is. `port` is that of the first broker, the
    others follow; 0 lets the system choose for those that are new, and None does so for a new cluster. A cluster that
    grows goes on after its own ports.
    """
    wished = (seating or Seating()).check()
    _check_brokers(brokers)
    _check_copies(durability, copies)
    brokers = _wanted(found, brokers, wished)
    _check_spares(found, spares)
    if found is None:
        run = RunFile([], durability or "disk", COPIES_DEFAULT if copies is None else copies)
        count = BROKERS_DEFAULT if brokers is None else brokers
    else:
        run = found
        count = len(run.seated) if brokers is None else brokers
        if durability is not None and durability != run.durability:
            raise ConfigError("durability", durability, f"the cluster there has {run.durability}; leave it out")
        run.copies = run.copies if copies is None else copies
    changed = {**run.settings, **(settings or {})}
    run.settings = {name: value for name, value in changed.items() if value}
    common_config(run).check()
    _add_brokers(run, count, prefix, wished)
    _add_spares(run, len(run.spares) if spares is None else spares, prefix)
    _give_ports(run, port)
    return run


def _wanted(found: RunFile | None, brokers: int | None, wished: Seating) -> int | None:
    """How many brokers there shall be: as many as have seats by name, if these were given."""
    if found is not None and brokers is not None and brokers < len(found.seated):
        raise ConfigError("brokers", brokers, f"the cluster there has {len(found.seated)}; see 'causeway leave'")
    if wished.seats is None:
        return brokers
    there = {entry.name: None for entry in found.seated} if found is not None else {}
    for name in wished.seats:
        if found is not None and any(entry.name == name for entry in found.spares):
            raise ConfigError("seats", name, "is a spare, which has no seat of its own; choose another name")
        if found is not None and name in found.left:
            raise ConfigError("seats", name, "has left for good, its name is not used again; choose another one")
    count = len({**there, **dict.fromkeys(wished.seats)})
    if brokers is not None and brokers != count:
        raise ConfigError("brokers", brokers, f"--seats names {count} brokers; leave --brokers out")
    _check_brokers(count)
    return count


def _add_brokers(run: RunFile, count: int, prefix: str, wished: Seating) -> None:
    """Let the cluster have so many, and everybody a seat."""
    there = {entry.name for entry in run.seated}
    if wished.seats is not None:
        new = [name for name in wished.seats if name not in there]
    else:
        new = [f"{prefix}{number}" for number in _unused(run, count - len(there), prefix)]
    places = seated({entry.name: tuple(entry.domains) for entry in run.seated}, new, wished)
    run.brokers += [BrokerEntry(name) for name in new]
    for entry in run.seated:
        entry.domains = list(places[entry.name])


def _add_spares(run: RunFile, count: int, prefix: str) -> None:
    """So many more that stand by in all domains, those too that came later."""
    domains = list(dict.fromkeys(domain for entry in run.seated for domain in entry.domains))
    if count and not domains:
        raise ConfigError("spares", count, "stand by in domains, and this cluster has none; leave them out")
    if count and len(domains) > DOMAINS_PER_SEAT_MAX:
        remedy = f"can stand by in {DOMAINS_PER_SEAT_MAX} domains, and there are {len(domains)}; leave them out"
        raise ConfigError("spares", count, f"{remedy}, and start single ones with 'causeway broker --spare'")
    _check_brokers(len(run.seated) + count)
    numbers = _unused(run, count - len(run.spares), prefix)
    run.brokers += [BrokerEntry(f"{prefix}{number}", spare=True) for number in numbers]
    for entry in run.spares:
        entry.domains = list(domains)


def _give_ports(run: RunFile, port: int | None) -> None:
    """Who has run keeps its port. The others go on after those, or from `port`; 0: the system gives them theirs."""
    if port is not None and not 0 <= port <= 65535:
        raise ConfigError("port", port, "must lie in 0..65535 (0 lets the system choose)")
    kept = [entry.port for entry in run.brokers if entry.port and (port is None or entry.ran or run.formed)]
    if kept and port and port != min(kept):
        remedy = f"the cluster there has the ports {min(kept)}..{max(kept)}; leave --port out, or give another --data"
        raise ConfigError("port", port, remedy)
    new = [entry for entry in run.brokers if entry.port not in kept]
    first = max(kept) + 1 if kept and port != 0 else port or 0
    if first + len(new) > 65536:
        raise ConfigError("port", first, f"must leave room for {len(new)} ports up to 65535 (0 lets the system choose)")
    for place, entry in enumerate(new):
        entry.port = first + place if first else 0


def names_of(found: RunFile | None, brokers: int, prefix: str) -> list[str]:
    """The seated brokers of a cluster that grows to so many: those that are there, and those that will be made."""
    there = [] if found is None else [entry.name for entry in found.seated]
    return [*there, *(f"{prefix}{number}" for number in _unused(found, brokers - len(there), prefix))]


def _unused(run: RunFile | None, count: int, prefix: str) -> list[int]:
    """Numbers of so many new brokers: a name is never used again."""
    taken = {entry.name for entry in run.brokers} | {*run.left} if run is not None else set[str]()
    unused = (number for number in itertools.count(1) if f"{prefix}{number}" not in taken)
    return list(itertools.islice(unused, max(0, count)))


def common_config(run: RunFile) -> BrokerConfig:
    """What all brokers of a cluster have in common."""
    return BrokerConfig(name="any", copies=run.copies, **settings_of(run.settings))  # type: ignore[arg-type]


def command(data: Path, run: RunFile, entry: BrokerEntry) -> list[str]:
    """The command line of one broker."""
    line = [sys.executable, "-P", "-m", "causeway", "broker", "--json"]
    line += ["--name", entry.name, "--host", entry.host, "--port", str(entry.port)]
    line += ["--durability", run.durability, "--copies", str(run.copies)]
    if run.durability == "disk":
        line += ["--data", str(data / entry.name)]
    founder = founds(run, entry)
    for other in run.brokers:
        if other is not entry and other.port and not (founder and _is_blank(run, other)):
            line += ["--seed", f"{other.host}:{other.port}"]
    for name, value in run.settings.items():
        line += ["--set", f"{name}={value}"]
    for domain in entry.domains:
        line += ["--domain", domain]
    if entry.spare:
        line.append("--spare")
    if founder:
        line.append("--founder")
    return line


def founds(run: RunFile, entry: BrokerEntry) -> bool:
    """Whether a broker, started now, begins a new cluster if its store is empty."""
    others = [other for other in run.brokers if other is not entry]
    if any(other.running for other in others):
        return False  # they may be the cluster: with an empty store it joins them
    if run.durability == "memory":
        return True  # whatever the cluster held died with its processes
    if not any(other.port for other in others):
        return True  # nobody else ever ran
    return entry is run.brokers[0] and not run.formed


def _is_blank(run: RunFile, other: BrokerEntry) -> bool:
    """Whether a broker that does not run holds nothing of a cluster: a founder need not wait for its word."""
    return run.durability == "memory" or not (other.ran or run.formed)


def _check_brokers(brokers: int | None) -> None:
    if brokers is not None and (type(brokers) is not int or not 1 <= brokers <= BROKERS_MAX):
        raise ConfigError("brokers", brokers, f"must lie in 1..{BROKERS_MAX}")


def _check_spares(found: RunFile | None, spares: int | None) -> None:
    if spares is None:
        return
    if type(spares) is not int or not 0 <= spares < BROKERS_MAX:
        raise ConfigError("spares", spares, f"must lie in 0..{BROKERS_MAX - 1}")
    if found is not None and spares < len(found.spares):
        raise ConfigError("spares", spares, f"the cluster there has {len(found.spares)}; see 'causeway leave'")


def _check_copies(durability: str | None, copies: int | None) -> None:
    if copies is not None and (type(copies) is not int or not 1 <= copies <= COPIES_MAX):
        raise ConfigError("copies", copies, f"must lie in 1..{COPIES_MAX}")
    if durability is not None and durability not in ("disk", "memory"):
        raise ConfigError("durability", durability, "must be 'disk' or 'memory'")
