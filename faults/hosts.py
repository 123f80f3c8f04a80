"""Hosts of their own for brokers and applications: network namespaces, joined by a bridge that leads nowhere else.

Owns: the private world a campaign runs in, its hosts, and the road from each host to each other one. A road is where a
host believes another one to be: its neighbour's true address, an address that nobody has (the road is cut, without a
word to anybody), or that of the slow road, which loses and delays (`slow_road`). So every direction of every pair is
one line in one table, and a cut is as silent as a pulled cable.

The world is a network, process and mount namespace of its own. Nothing in it reaches the machine's network, and with
its first process everything in it ends.
"""

from __future__ import annotations

import asyncio
import enum
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

PREFIX: Final = "10.77.0."
OBSERVER: Final = f"{PREFIX}254"
"""The campaign itself, which every host reaches always."""
BRIDGE: Final = "bridge"
SLOW: Final = "slow"
"""The device that leads to the slow road."""
NOWHERE: Final = "02:00:00:00:ff:01"
SLOWLY: Final = "02:00:00:00:ff:02"
HOSTS_MAX: Final = 64
COMMAND_SECONDS_MAX: Final = 20.0
NO_GATEWAY: Final = "00000000"
_INSIDE: Final = "CAUSEWAY_FAULTS_WORLD"


class Road(enum.Enum):
    """How one host reaches another, other than by the open road."""

    CUT = "cut"
    SLOW = "slow"


class NoWorld(Exception):
    """Why this machine cannot have such hosts."""


def missing() -> str:
    """Why there can be no hosts of their own here; empty if there can."""
    if sys.platform != "linux":
        return "network namespaces are Linux's"
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    absent = [tool for tool in ("ip", "bridge", "unshare", "nsenter", "mount") if shutil.which(tool) is None]
    if absent:
        return f"these programs are missing: {', '.join(absent)} (Debian: iproute2, util-linux)"
    # What is allowed is known only when it is tried: a container may run as root and still have no such right.
    tried = subprocess.run(
        [*_unshare(), "sh", "-c", "ip link add name try type bridge && ip link add name one type veth peer name other"],
        capture_output=True,
        timeout=COMMAND_SECONDS_MAX,
        check=False,
    )
    return "" if tried.returncode == 0 else f"no namespaces here: {tried.stderr.decode().strip()}"


def _unshare() -> list[str]:
    return ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


def enter(arguments: Sequence[str]) -> None:
    """Become the first process of a new world, running this program with these arguments; returns once inside."""
    if os.environ.get(_INSIDE) and os.getpid() == 1 and os.listdir("/sys/class/net"):
        _check_closed()
        # What `ip` keeps there is this world's alone.
        _run("mount", "-t", "tmpfs", "none", "/run")
        return
    reason = missing()
    if reason:
        raise NoWorld(reason)
    os.environ[_INSIDE] = "1"
    os.execvp("unshare", [*_unshare(), sys.executable, *arguments])


def _check_closed() -> None:
    links = _run("ip", "-o", "link").splitlines()
    if len(links) != 1:
        raise NoWorld(f"this network is not a new one: it has {len(links)} links")


def is_closed() -> bool:
    """Whether this process is on a host of a campaign: in a network other than the machine's, that no route leaves."""
    try:
        elsewhere = os.readlink("/proc/1/ns/net") != os.readlink("/proc/self/ns/net")
    except OSError:
        return False  # the first process of a campaign's world may be looked at
    if not elsewhere or not os.environ.get(_INSIDE):
        return False
    routes = [line.split() for line in Path("/proc/net/route").read_text().splitlines()[1:]]
    return bool(routes) and all(gateway == NO_GATEWAY for _device, _target, gateway, *_ in routes)


class Hosts:
    """The hosts of a world, and all roads between them."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._roads: dict[tuple[str, str], list[Road]] = {}
        """What holds of each pair; nothing: the open road."""

    @property
    def names(self) -> list[str]:
        """All hosts."""
        return list(self._numbers)

    def address(self, host: str) -> str:
        """Where a host is."""
        return f"{PREFIX}{self._numbers[host]}"

    def mac(self, host: str) -> str:
        """Its place on the bridge."""
        return f"02:00:00:00:00:{self._numbers[host]:02x}"

    def inside(self, host: str, line: Sequence[str]) -> list[str]:
        """A command line that runs on a host."""
        return ["nsenter", f"--net=/run/netns/{host}", *line]

    def build(self) -> None:
        """The bridge, with nobody on it yet."""
        _batch(
            None,
            [
                "link set lo up",
                f"link add name {BRIDGE} type bridge stp_state 0 forward_delay 0",
                f"addr add {OBSERVER}/24 dev {BRIDGE}",
                f"link set {BRIDGE} address 02:00:00:00:00:fe up",
                # Frames to nobody end in a cable without an end, instead of at every host.
                "link add void type veth peer name void-end",
                f"link set void master {BRIDGE} up",
                "link set void-end up",
                f"tuntap add dev {SLOW} mode tap",
                f"link set {SLOW} master {BRIDGE} up",
            ],
        )
        _run("bridge", "fdb", "add", NOWHERE, "dev", "void", "master", "static")
        _run("bridge", "fdb", "add", SLOWLY, "dev", SLOW, "master", "static")
        # What comes back from the slow road bears its sender's address, who is elsewhere all the same.
        _run("bridge", "link", "set", "dev", SLOW, "learning", "off", "flood", "off")

    def add(self, names: Iterable[str]) -> None:
        """Hosts come to be, each reached by all."""
        new = [name for name in names if name not in self._numbers]
        if len(self._numbers) + len(new) > HOSTS_MAX:
            raise NoWorld(f"more than {HOSTS_MAX} hosts")
        lines: list[str] = []
        for name in new:
            self._numbers[name] = len(self._numbers) + 1
            cable = f"v{self._numbers[name]}"
            lines += [
                f"netns add {name}",
                f"link add {cable} type veth peer name eth0 address {self.mac(name)} netns {name}",
                f"link set {cable} master {BRIDGE} up",
                f"neigh replace {self.address(name)} lladdr {self.mac(name)} dev {BRIDGE} nud permanent",
            ]
        _batch(None, lines)
        for name in self._numbers:
            lines = []
            if name in new:
                lines += ["link set lo up", f"addr add {self.address(name)}/24 dev eth0", "link set eth0 up"]
                lines.append(f"neigh replace {OBSERVER} lladdr 02:00:00:00:00:fe dev eth0 nud permanent")
            lines += [self._line(name, other) for other in self._numbers if other != name]
            _batch(name, lines)

    async def lay(self, pairs: Iterable[tuple[str, str]], road: Road) -> None:
        """From now on these hosts reach those by this road, at best."""
        await self._change(pairs, lambda roads: roads.append(road))

    async def lift(self, pairs: Iterable[tuple[str, str]], road: Road) -> None:
        """No more because of one earlier `lay`; others may still hold."""
        await self._change(pairs, lambda roads: roads.remove(road))

    async def _change(self, pairs: Iterable[tuple[str, str]], change: Callable[[list[Road]], None]) -> None:
        changed: dict[str, list[str]] = {}
        for source, target in pairs:
            change(self._roads.setdefault((source, target), []))
            changed.setdefault(source, []).append(self._line(source, target))
        await asyncio.gather(*(asyncio.to_thread(_batch, name, lines) for name, lines in changed.items()))

    def _line(self, source: str, target: str) -> str:
        laid = self._roads.get((source, target), [])
        mac = NOWHERE if Road.CUT in laid else SLOWLY if Road.SLOW in laid else self.mac(target)
        return f"neigh replace {self.address(target)} lladdr {mac} dev eth0 nud permanent"


def _batch(host: str | None, lines: Sequence[str]) -> None:
    place = [] if host is None else ["-n", host]
    _run("ip", *place, "-batch", "-", text="\n".join(lines))


def _run(*line: str, text: str = "") -> str:
    done = subprocess.run(line, input=text.encode(), capture_output=True, timeout=COMMAND_SECONDS_MAX, check=False)
    if done.returncode:
        raise NoWorld(f"{' '.join(line)}: {done.stderr.decode().strip()}")
    return done.stdout.decode()
