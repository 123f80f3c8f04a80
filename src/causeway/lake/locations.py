"""Files and folders wherever they are: on a disk, in an object store, on HDFS.

A location is a path, or a URI of a file system that pyarrow knows: `file://`, `s3://` or `s3a://`, `hdfs://`, `gs://`,
`abfs://`. Credentials and endpoints are those of the environment (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL` and so on).
`str(location)` is what Spark is told: Hadoop calls S3 `s3a`.

An object appears when it has been written as a whole. Elsewhere `written` gives a file its name when it is whole. There
is no other rename here: an object store has none.

Owns: this difference between disks and stores. Must not know: what the files are.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from causeway.errors import ConfigError

_S3: Final = ("s3", "s3a", "s3n")
_FILE: Final = "file"


class Location:
    """A file or folder."""

    __slots__ = ("_root", "path")

    def __init__(self, root: str, path: str) -> None:
        self._root = root
        """What stands before the path, as Hadoop says it: empty for a plain path."""
        self.path = path
        """As its file system calls it."""

    def __str__(self) -> str:
        return f"{self._root}{self.path}"

    def __repr__(self) -> str:
        return f"Location({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Location) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __truediv__(self, name: str) -> Location:
        return Location(self._root, f"{self.path.rstrip('/')}/{name}")

    @property
    def name(self) -> str:
        """The last part."""
        return self.path.rstrip("/").rpartition("/")[2]

    @property
    def parent(self) -> Location:
        """The folder it is in."""
        return Location(self._root, self.path.rstrip("/").rpartition("/")[0] or "/")

    @property
    def is_local(self) -> bool:
        """Whether it is on a file system of this machine."""
        return self._root in {"", "file://"}

    @property
    def file_system(self) -> Any:
        """What pyarrow reads and writes it with."""
        return _file_system("" if self.is_local else self._root)

    def absolute(self) -> str:
        """A text that is the same for the same place."""
        return str(Path(self.path).resolve()) if self.is_local else str(self).rstrip("/")

    # Looking ----------------------------------------------------------------------------------------------------
    def is_folder(self) -> bool:
        """Whether it is one. An object store has a folder if anything lies in it."""
        from pyarrow.fs import FileType

        return bool(self.file_system.get_file_info(self.path).type == FileType.Directory)

    def exists(self) -> bool:
        """Whether there is anything."""
        from pyarrow.fs import FileType

        return bool(self.file_system.get_file_info(self.path).type != FileType.NotFound)

    def entries(self, *, deep: bool = False) -> list[FileEntry]:
        """What lies in the folder, sorted by path; nothing if there is no folder. `deep`: in its folders too."""
        from pyarrow.fs import FileSelector, FileType

        infos = self.file_system.get_file_info(FileSelector(self.path, recursive=deep, allow_not_found=True))
        found = (
            FileEntry(
                Location(self._root, info.path), info.type == FileType.Directory, info.size or 0, info.mtime_ns or 0
            )
            for info in infos
        )
        return sorted(found, key=lambda entry: entry.location.path)

    def matching(self, pattern: str) -> list[Location]:
        """What lies in the folder and has such a name."""
        return [entry.location for entry in self.entries() if fnmatchcase(entry.location.name, pattern)]

    # Reading and writing ------------------------------------------------------------------------------------------
    def read(self) -> bytes:
        """All of a file. Raises OSError."""
        with self.file_system.open_input_stream(self.path) as file:
            return bytes(file.read())

    def read_end(self, size: int) -> bytes:
        """The last bytes of a file. Raises OSError."""
        with self.file_system.open_input_file(self.path) as file:
            whole = file.size()
            return bytes(file.read_at(min(size, whole), max(0, whole - size)))

    def write(self, data: bytes) -> None:
        """A file in place of what was there, whole or not at all. Raises OSError."""
        with self.written() as hidden, hidden.file_system.open_output_stream(hidden.path) as file:
            file.write(data)

    @contextlib.contextmanager
    def written(self, *, synced: bool = True) -> Iterator[Location]:
        """Where to write a file that appears here when it is whole; its folder is made.

        On a disk its name begins with a dot until then, and it is locked: `remove_abandoned` tells by that whether
        somebody is writing it. `synced`: it must survive a loss of power. Raises OSError: then there is nothing of it.
        """
        self.parent.make_folder()
        if not self.is_local:
            yield self
            return
        path = Path(self.path)
        hidden = path.with_name(f".{path.name}")
        try:
            with hidden.open("ab") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield Location(self._root, str(hidden))
                if synced:
                    os.fsync(file.fileno())
                hidden.rename(path)
        except BlockingIOError:
            raise  # it is somebody else's
        except BaseException:
            with contextlib.suppress(OSError):
                hidden.unlink()
            raise
        if synced:
            sync(path.parent)

    def remove_abandoned(self) -> None:
        """Remove what was never finished, unless somebody is writing it."""
        with contextlib.suppress(OSError), open(self.path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(self.path)

    def make_folder(self) -> None:
        """The folder, where file systems have such a thing."""
        if self._root.startswith("s3a:"):
            return  # a folder there is what its objects are called; an empty one would be an object of its own
        self.file_system.create_dir(self.path, recursive=True)

    def remove(self) -> None:
        """A file; nothing if it is gone already."""
        with contextlib.suppress(FileNotFoundError):
            self.file_system.delete_file(self.path)

    def remove_folder(self) -> None:
        """A folder with all that is in it; nothing if there is none."""
        with contextlib.suppress(FileNotFoundError):
            self.file_system.delete_dir(self.path)

    def sync_folder(self) -> None:
        """Let all files in the folder, and their names, survive a loss of power; stores see to that themselves."""
        if self.is_local:
            sync(*(Path(entry.location.path) for entry in self.entries(deep=True)), Path(self.path))


class FileEntry(NamedTuple):
    """Something in a folder."""

    location: Location
    is_folder: bool
    size: int
    changed: int
    """Nanoseconds since 1970."""


def locate(text: str | Path | Location) -> Location:
    """The place that a path or URI names. Raises ConfigError."""
    if isinstance(text, Location):
        return text
    scheme, apart, rest = str(text).partition("://")
    if not apart:
        return Location("", str(text))
    if scheme == _FILE:
        return Location("file://", rest)
    if scheme in _S3:
        if not rest.strip("/"):
            raise ConfigError("location", str(text), "names no bucket; give s3a://BUCKET/FOLDER")
        return Location("s3a://", rest)
    host, _, path = rest.partition("/")
    return Location(f"{scheme}://{host}", f"/{path}")


@lru_cache(maxsize=64)
def _file_system(root: str) -> Any:
    from pyarrow import ArrowException, fs

    if not root:
        return fs.LocalFileSystem()
    if root == "s3a://":
        # Arrow asks Amazon where a bucket is, unless it is told whom to ask.
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        return fs.S3FileSystem(endpoint_override=endpoint, region=region)
    try:
        return fs.FileSystem.from_uri(f"{root}/")[0]
    except (ArrowException, OSError) as error:
        raise ConfigError("location", root, f"cannot be used ({error})") from error


def sync(*paths: Path) -> None:
    """Let files, and names in folders, survive a loss of power."""
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
