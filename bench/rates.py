"""A day of 2,000 topics in 200 items through `causeway pipeline rates`, on 2 cores and 2 GB.

    python -m bench.rates [--topics 2000] [--items 200] [--seconds 86400]

Makes the lake (seeded), runs the real command in a process of its own, and says how long it took and how much memory
its processes held at most: Java's and those of Python beside it. Owns: the measurement. Must not know: other cases.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.watching import MIB, run_watched, spent

TOPICS, ITEMS, SECONDS = 2_000, 200, 86_400
MASTER = "local[2]"
MEMORY = "2g"


def generate(lake: Path, plan: dict[str, Any], master: str) -> dict[str, Any]:
    """Make the lake."""
    from causeway.pipeline.generate_telemetry import TelemetryPlan, generate_telemetry
    from causeway.pipeline.session import open_session

    session = open_session("generate", master=master, driver_memory=MEMORY)
    began = time.monotonic()
    generate_telemetry(session, str(lake), TelemetryPlan(**plan))
    took = time.monotonic() - began
    rows = session.read.parquet(str(lake)).count()
    session.stop()
    size = sum(path.stat().st_size for path in lake.rglob("*.parquet"))
    return {"rows": rows, "mib": size // MIB, "seconds": round(took, 1)}


def measure(
    topics: int = TOPICS,
    items: int = ITEMS,
    seconds: int = SECONDS,
    *,
    master: str = MASTER,
    memory: str = MEMORY,
    lake: Path | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Make the lake, if it is not there, and run the job on it; `more` is of a TelemetryPlan."""
    with tempfile.TemporaryDirectory(prefix="causeway-bench-") as folder:
        where = lake or Path(folder) / "lake"
        plan = {"topics": topics, "items": items, "seconds": seconds, **more}
        made = None if where.exists() else generate(where, plan, master)
        places = ("--lake", str(where), "--out", str(Path(folder) / "out"))
        found = run_watched("rates", *places, "--master", master, "--driver-memory", memory)
    return {"topic_seconds": topics * seconds, "generated": made, "rates": found}


def sentences(found: dict[str, Any]) -> list[str]:
    """The result for people."""
    return [f"rates, {found['topic_seconds']:,} topic-seconds: {spent(found['rates'])}"]


def main() -> None:
    """With other sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=TOPICS)
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--rate", type=float, default=argparse.SUPPRESS, help="of a topic, in messages per second")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--master", default=MASTER)
    parser.add_argument("--driver-memory", dest="memory", default=MEMORY)
    parser.add_argument("--lake", type=Path, help="Use this lake, or make it here if it is not there.")
    print(json.dumps(measure(**vars(parser.parse_args())), indent=1))


if __name__ == "__main__":
    main()
