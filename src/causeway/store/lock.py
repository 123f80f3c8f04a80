"""One program per data directory: a lock file held for the life of the process, released by the system at its death."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from causeway.errors import StoreBusy


class DirectoryLock:
    """Holds `directory/lock`. Raises StoreBusy when another process (or another store of this one) holds it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file = -1

    def take(self) -> None:
        """Take the lock or say who has it. May raise OSError."""
        file = os.open(self._directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(file, 0)
            os.pwrite(file, b"%d\n" % os.getpid(), 0)
        except BlockingIOError as error:
            holder = os.pread(file, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(file)
            raise StoreBusy(
                f"directory {self._directory} is in use by another program (pid {holder}); "
                "stop that one, or give this one a directory of its own"
            ) from error
        except BaseException:
            os.close(file)
            raise
        self._file = file

    def release(self) -> None:
        """Let others have it; idempotent. The file stays: removing it would race with its next holder."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
