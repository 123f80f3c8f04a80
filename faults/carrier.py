"""An application on Spark: a stream that carries a mailbox over to another one, each letter once, whatever is killed.

Owns: the query of one life, which goes on from the checkpoint that its earlier lives have left. It keeps a diary like
any application; what it carries, its sender and its reader have in theirs.
"""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path

import msgspec

from causeway.pipeline.connector import register
from causeway.pipeline.session import open_session
from faults.diary import Diary, Did
from faults.jobs import Carrying, Life

POLL_SECONDS = 0.2


def main(life: Life) -> None:
    """Until told to end."""
    diary = Diary(Path(life.diary), life.job.name, life.life)
    diary.note(Did.BORN)
    told = threading.Event()
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)  # it sends only what comes
    [role] = [role for role in life.job.roles if isinstance(role, Carrying)]
    spark = open_session(life.job.name, master="local[1]", driver_memory="512m")
    register(spark)
    reader = spark.readStream.format("causeway").option("url", life.url).option("queues", role.mailbox)
    frame = reader.option("startingOffsets", "earliest").load().select("body")
    writer = frame.writeStream.format("causeway").option("url", life.url).option("queue", role.dest)
    query = writer.option("checkpointLocation", life.state).start()
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    ready = False
    while not told.wait(POLL_SECONDS):
        if not query.isActive:
            diary.note(Did.TROUBLE, detail=str(query.exception()))
            return
        if not ready and query.lastProgress is not None:
            ready = True
            diary.note(Did.READY)
    query.stop()
    spark.stop()
    diary.note(Did.ENDED)


if __name__ == "__main__":
    main(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Life))
