"""Where a local cluster is written down, so that every command finds it without being told.

`<data>/cluster.json` describes one cluster: its brokers, their addresses and processes. `<runtime>/current` names
the data directories of clusters that were started, the last one last. Both are private to the user.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

import msgspec

from causeway.client.url import format_url
from causeway.errors import ConfigError, StoreBusy, StoreError
from causeway.local.pids import ProcessId, is_running

RUN_FILE_VERSION = 1
_FILE_NAME = "cluster.json"


class BrokerEntry(msgspec.Struct):
    """One broker of a local cluster."""

    name: str
    host: str = "127.0.0.1"
    port: int = 0
    """0 until the broker has bound its first port; afterwards it keeps the port for life."""
    process: ProcessId | None = None
    ran: bool = False
    """It has bound its port once: it may hold a part of the cluster."""
    domains: list[str] = []
    """Domains of causal order that it is seated in; of a spare: those it stands by in."""
    spare: bool = False
    """It began without a seat, to take one when another broker fails."""

    @property
    def running(self) -> bool:
        """Whether its process lives."""
        return is_running(self.process)


class RunFile(msgspec.Struct):
    """A local cluster: what it is, and which processes make it up."""

    brokers: list[BrokerEntry]
    durability: str = "disk"
    copies: int = 3
    formed: bool = False
    """All brokers were active once: from then on nobody founds a cluster on this data again."""
    left: list[str] = []
    """Brokers that handed over and left for good; their names are not used again."""
    settings: dict[str, str] = {}
    """Settings of every broker that have no flag, as they were written (`--set`)."""
    version: int = RUN_FILE_VERSION

    @property
    def url(self) -> str:
        """What a client needs: every broker's address."""
        return format_url(tuple(self.addresses))

    @property
    def seated(self) -> list[BrokerEntry]:
        """The brokers that are no spares."""
        return [entry for entry in self.brokers if not entry.spare]

    @property
    def spares(self) -> list[BrokerEntry]:
        """The others."""
        return [entry for entry in self.brokers if entry.spare]

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Host and port of every broker that ever bound one."""
        return [(entry.host, entry.port) for entry in self.brokers if entry.port]


def runtime_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's private directory for what lives as long as the login; made when missing."""
    base = environ.get("XDG_RUNTIME_DIR")
    path = Path(base) / "causeway" if base else Path(tempfile.gettempdir()) / f"causeway-{os.getuid()}"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        raise StoreError(f"runtime directory {path}: {error.strerror}; set XDG_RUNTIME_DIR to one you own") from error
    # In a shared /tmp somebody else may have made it first, to see or to redirect what we do.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise StoreError(f"runtime directory {path} is not private to you; set XDG_RUNTIME_DIR to one that is")
    return path


def default_data_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Where `up` keeps a cluster when not told."""
    base = environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "causeway"


def prepare_data_dir(data: Path) -> None:
    """Make the data directory, or say why it cannot be used."""
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=data):
            pass
    except OSError as error:
        raise ConfigError("data", str(data), f"{error.strerror}; give a directory that you may write") from error


def load(data: Path) -> RunFile | None:
    """The cluster kept in a data directory; None when there is none."""
    path = data / _FILE_NAME
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError("data", str(data), f"{error.strerror}; give a directory that you may read") from error
    try:
        run = msgspec.json.decode(raw, type=RunFile)
    except msgspec.MsgspecError as error:
        raise ConfigError("data", str(path), f"is damaged ({error}); restore it or give another --data") from error
    if run.version != RUN_FILE_VERSION:
        raise ConfigError("version", run.version, f"{path} was written by another release; use that one to stop it")
    return run


def save(data: Path, run: RunFile) -> None:
    """Write the cluster down; a crash leaves the old file or the new one."""
    _replace(data / _FILE_NAME, msgspec.json.format(msgspec.json.encode(run), indent=2))


def remember(data: Path, environ: Mapping[str, str] = os.environ) -> None:
    """Make this the cluster that commands use when not told. Those that have ended meanwhile are forgotten."""
    mine = data.resolve()
    _write_started([*(other for other in running(environ) if other != mine), mine], environ)


def forget(data: Path, environ: Mapping[str, str] = os.environ) -> None:
    """No longer a cluster that commands use when not told, if it was."""
    mine, started = data.resolve(), _started(environ)
    if mine in started:
        _write_started([other for other in started if other != mine], environ)


def running(environ: Mapping[str, str] = os.environ) -> list[Path]:
    """The data directories of this user's clusters of which a broker runs, the one started last at the end."""
    found: list[Path] = []
    for data in _started(environ):
        with contextlib.suppress(ConfigError):  # damaged, or of another release: not ours to stop
            run = load(data)
            if run is not None and any(entry.running for entry in run.brokers):
                found.append(data)
    return found


def find(data: Path | None, environ: Mapping[str, str] = os.environ) -> tuple[Path, RunFile]:
    """The cluster in `data`, or the one started last."""
    if data is None:
        data = next(reversed(_started(environ)), default_data_dir(environ))
    run = load(data)
    if run is None:
        raise ConfigError("data", str(data), "holds no cluster; start one with 'causeway up', or give another --data")
    return data, run


@contextlib.contextmanager
def lock(data: Path) -> Iterator[None]:
    """Two commands never start or stop the same cluster at once."""
    path = data / "lock"
    with path.open("w") as file:
        try:
            flock(file, LOCK_EX | LOCK_NB)
            theirs = not os.path.samestat(os.fstat(file.fileno()), path.stat())  # see `beginning`
        except (BlockingIOError, FileNotFoundError):
            theirs = True
        if theirs:
            raise StoreBusy(f"another causeway command starts or stops the cluster in {data}; wait until it is done")
        yield


@contextlib.contextmanager
def beginning(data: Path) -> Iterator[None]:
    """Who fails to begin a cluster leaves the directory as it was, but for brokers' logs. Within `lock`.

    A broker that has bound its port may have acknowledged something: then everything stays, to be resumed.
    """
    before = {path.name for path in data.iterdir()}
    try:
        yield
    except BaseException:
        run = load(data)
        if _FILE_NAME in before or (run is not None and any(entry.ran for entry in run.brokers)):
            raise
        for entry in run.brokers if run is not None else ():
            if entry.name not in before:
                shutil.rmtree(data / entry.name, ignore_errors=True)
        for name in (_FILE_NAME, "lock"):
            (data / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            data.rmdir()  # unless there is something else in it
        raise


def _started(environ: Mapping[str, str]) -> list[Path]:
    try:
        return [Path(line) for line in (runtime_dir(environ) / "current").read_text().splitlines()]
    except FileNotFoundError:
        return []


def _write_started(started: list[Path], environ: Mapping[str, str]) -> None:
    _replace(runtime_dir(environ) / "current", "\n".join(map(str, started)).encode())


def _replace(path: Path, content: bytes) -> None:
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}; free space or give another --data") from error
