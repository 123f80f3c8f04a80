"""Processes of the command line that need not import it first: one process has it imported and forks for each command.

Owns: the fork, and that a command finds the arguments, variables and standard streams it was given, as a program does.
Must not know: what commands do. `python -m causeway` itself is what brokers are started with, here as everywhere.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from causeway.cli.main import main

# Commands that do nothing make this process import what all commands need; those that are forked from it have it.
with contextlib.redirect_stdout(io.StringIO()) as nobody, contextlib.redirect_stderr(nobody):
    for command in (["--version"], ["status", "--help"], ["status", "--data", os.devnull]):
        main(command)

_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload([__name__])

STREAMS = ("stdin", "stdout", "stderr")


def run_command(
    arguments: tuple[str, ...], environ: Mapping[str, str], text: str | None, seconds_max: float
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="causeway-command-") as folder:
        for stream in STREAMS:
            Path(folder, stream).write_text((text or "") if stream == "stdin" else "")
        process = _PROCESSES.Process(target=_live, args=(arguments, dict(environ), os.getcwd(), folder))
        process.start()
        process.join(seconds_max)
        code = process.exitcode
        if code is None:
            process.kill()
            process.join()
        out, err = (Path(folder, stream).read_text() for stream in STREAMS[1:])
    process.close()
    if code is None:
        raise subprocess.TimeoutExpired(arguments, seconds_max, out, err)
    return subprocess.CompletedProcess(arguments, code, out, err)


def _live(arguments: tuple[str, ...], environ: Mapping[str, str], where: str, folder: str) -> None:
    """The life of a command's process."""
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(where)
    for stream in STREAMS:
        with Path(folder, stream).open("r" if stream == "stdin" else "w") as file:
            os.dup2(file.fileno(), getattr(sys, stream).fileno())
    sys.exit(main(arguments))
