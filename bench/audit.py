"""Lakes of 1 and 5 million events with planted faults through `causeway pipeline audit`.

    python -m bench.audit [--events 1000000,5000000] [--faults 60]

Makes both lakes (seeded, 200 applications), runs the real command on each with an executor of 2 cores and 1 GB, and
says whether every planted fault was found and none invented, how long it took by the clock and in processor time (which
other work on the machine changes little), how much memory its processes held at most, how much was shuffled, and how
much longer the longest task of a stage took than its median. Owns: the measurement. Must
not know: other cases.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from bench.watching import run_watched, spent

EVENTS = (1_000_000, 5_000_000)
FAULTS = 60
MASTER = "local-cluster[1,2,1024]"
"""One executor of 2 cores and 1,024 MiB, a process of its own."""
KEY = ("source", "incarnation", "dest", "stream", "first", "last", "mailbox")


def compared(lake: Path, out: Path) -> dict[str, Any]:
    """What was planted beside what was found."""
    import pyarrow.parquet as pq

    from causeway.pipeline.generate.world import GAP

    planted = pq.read_table(lake / "_planted").to_pylist()
    findings = pq.read_table(out / "findings").to_pylist()
    meant = Counter(tuple(row[name] for name in KEY) for row in planted if row["fault"] != GAP)
    gaps = {tuple(row[name] for name in KEY) for row in planted if row["fault"] == GAP}
    violated = Counter(tuple(row[name] for name in KEY) for row in findings if row["outcome"] == "violated")
    unknown = {tuple(row[name] for name in KEY) for row in findings if row["outcome"] == "unknown"}
    return {
        "planted": meant.total(),
        "found": (meant & violated).total(),
        "invented": (violated - meant).total(),
        "records_missing": len(gaps),
        "of_these_unknown": len(gaps & unknown),
        "unknown": len(unknown),
    }


def measure_lake(folder: Path, events: int, faults: int, master: str) -> dict[str, Any]:
    """Make a lake of so many events and audit it."""
    lake, out = folder / f"lake-{events}", folder / f"out-{events}"
    made = run_watched(
        *("generate", "--lake", str(lake), "--out", str(folder / "made"), "--seed", "1", "--master", "local[2]"),
        *("--set", f"events={events}", "--set", "applications=200", "--set", f"faults={faults}", "--set", "topics=0"),
    )
    audited = run_watched("audit", "--lake", str(lake), "--out", str(out), "--master", master)
    summary = audited.pop("summary")
    return {
        "events": made["summary"]["events_rows"],
        "made_in_seconds": made["seconds"],
        "made_in_processor_seconds": made["processor_seconds"],
        **audited,
        "job_seconds": summary["seconds_taken"],
        **compared(lake, out),
        "guarantees": summary["guarantees"],
    }


def measure(
    events: tuple[int, ...] = EVENTS, faults: int = FAULTS, master: str = MASTER, folder: Path | None = None
) -> list[dict[str, Any]]:
    """One lake after the other; they are kept where a folder is given."""
    with tempfile.TemporaryDirectory(prefix="causeway-bench-") as temporary:
        return [measure_lake(folder or Path(temporary), count, faults, master) for count in events]


def sentences(found: list[dict[str, Any]]) -> list[str]:
    """The result for people."""
    return [
        f"audit, {one['events']:,} events: {spent(one)}; "
        f"{one['found']} of {one['planted']} planted faults found, {one['invented']} invented"
        for one in found
    ]


def sizes(text: str) -> tuple[int, ...]:
    """Numbers with commas between them."""
    return tuple(map(int, text.split(",")))


def main() -> None:
    """With other sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=sizes, default=EVENTS, help="sizes of the lakes, with commas between them")
    parser.add_argument("--faults", type=int, default=FAULTS, help="of each kind")
    parser.add_argument("--master", default=MASTER)
    parser.add_argument("--folder", type=Path, help="where lakes are made and kept; otherwise they are removed")
    print(json.dumps(measure(**vars(parser.parse_args())), indent=1))


if __name__ == "__main__":
    main()
