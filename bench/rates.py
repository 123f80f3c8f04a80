"""A day of 2,000 topics in 200 items through `causeway pipeline rates`, on 2 cores and 2 GB.

    python -m bench.rates [--topics 2000] [--items 200] [--seconds 86400]

Makes the lake (seeded), runs the real command in a process of its own, and says how long it took and how much memory
its processes held at most: Java's and those of Python beside it. Owns: the measurement. Must not know: other cases.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from bench.watching import MIB, run_watched, spent

TOPICS, ITEMS, SECONDS = 2_000, 200, 86_400
MASTER = "local[2]"
MEMORY = "2g"


def generate(lake: Path, out: Path, plan: dict[str, Any], flags: tuple[str, ...]) -> dict[str, Any]:
    """Make the lake, with the real command."""
    options = [part for name, value in plan.items() for part in ("--set", f"{name}={value}")]
    made = run_watched(
        *("generate", "--lake", str(lake), "--out", str(out), *flags),
        *("--set", "events=0", "--set", "latency=no", *options),
    )
    size = sum(path.stat().st_size for path in lake.rglob("*.parquet"))
    return {"mib": size // MIB, **made}


def measure(
    topics: int = TOPICS,
    items: int = ITEMS,
    seconds: int = SECONDS,
    *,
    master: str = MASTER,
    memory: str = MEMORY,
    lake: Path | None = None,
    out: Path | None = None,
    seed: int = 0,
    **more: Any,
) -> dict[str, Any]:
    """Make the lake, if it is not there, and run the job on it; `more` are options of the job `generate`."""
    with tempfile.TemporaryDirectory(prefix="causeway-bench-") as folder:
        where = lake or Path(folder) / "lake"
        flags = ("--master", master, "--driver-memory", memory)
        plan = {"topics": topics, "items": items, "seconds": seconds, **more}
        made = None if where.exists() else generate(where, Path(folder) / "made", plan, (*flags, "--seed", str(seed)))
        places = ("--lake", str(where), "--out", str(out or Path(folder) / "out"))
        found = run_watched("rates", *places, *flags)
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
    parser.add_argument("--out", type=Path, help="Keep here what the job writes.")
    print(json.dumps(measure(**vars(parser.parse_args())), indent=1))


if __name__ == "__main__":
    main()
