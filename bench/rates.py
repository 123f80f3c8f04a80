"""5,000 topics in 200 items over 34,000 s through `causeway pipeline rates` on 2 cores and 2 GB, beside DuckDB on one.

    python -m bench.rates [--topics 5000] [--items 200] [--seconds 34000]

Makes the lake (seeded), runs the real command and then DuckDB on the same lake (rates_duckdb.py), each in a process of
its own. Says how long both took, how much memory their processes held at most, Java's and those of Python beside it,
and how far their answers are apart. Owns: the measurement. Must not know: other cases.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from bench.watching import MIB, run_watched, spent, watched
from causeway.pipeline.measured_model import read_model

TOPICS, ITEMS, SECONDS = 5_000, 200, 34_000
RATE = 0.56
"""Of a topic, in messages per second: about one topic-second in ten has some."""
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
    rate: float = RATE,
) -> dict[str, Any]:
    """Make the lake, if it is not there, and run the job and DuckDB on it."""
    with tempfile.TemporaryDirectory(prefix="causeway-bench-") as folder:
        where = lake or Path(folder) / "lake"
        flags = ("--master", master, "--driver-memory", memory)
        plan = {"topics": topics, "items": items, "seconds": seconds, "rate": rate}
        made = None if where.exists() else generate(where, Path(folder) / "made", plan, (*flags, "--seed", str(seed)))
        ours, theirs = out or Path(folder) / "out", Path(folder) / "duckdb"
        found = run_watched("rates", "--lake", str(where), "--out", str(ours), *flags)
        theirs.mkdir()
        _, other = watched("bench.rates_duckdb", str(where), str(theirs))
        error = largest_error(ours, theirs)
    ratio = round(found["seconds"] / other["seconds"], 2)
    work = round(found["processor_seconds"] / other["processor_seconds"], 2)
    more = {"ratio": ratio, "ratio_of_processor_time": work, "largest_error": error}
    return {"topic_seconds": topics * seconds, "generated": made, "rates": found, "duckdb": other, **more}


def largest_error(ours: Path, theirs: Path) -> float:
    """Between both answers: of topics relative to the rate, of items relative to their deviations."""
    model = read_model(str(ours))
    other = np.load(theirs / "moments.npz")
    deviations = np.sqrt(np.diag(other["covariance"]))
    errors = [
        np.abs(np.array(model.means) / other["means"] - 1),
        np.abs(np.array(model.covariance) - other["covariance"]) / np.outer(deviations, deviations),
    ]
    tables = (
        pq.read_table(path).sort_by([("item", "ascending"), ("name", "ascending")])
        for path in (ours / "topics", theirs / "topics.parquet")
    )
    mine, yours = tables
    if (
        any(mine[name].to_pylist() != yours[name].to_pylist() for name in ("item", "name"))
        or model.items != other["items"].tolist()
    ):
        return float("inf")
    columns = (name for name in ("active", "mean", "deviation", "largest"))
    errors += [np.abs(mine[name].to_numpy() / yours[name].to_numpy() - 1) for name in columns]
    return float(max(error.max() for error in errors))


def sentences(found: dict[str, Any]) -> list[str]:
    """The result for people."""
    return [
        f"rates, {found['topic_seconds']:,} topic-seconds: {spent(found['rates'])}",
        f"DuckDB on one thread, the same: {spent(found['duckdb'])}",
        f"ratio {found['ratio']:.2f} by the clock, {found['ratio_of_processor_time']:.2f} of processor time; "
        f"largest relative error {found['largest_error']:.1e}",
    ]


def main() -> None:
    """With other sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=TOPICS)
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--rate", type=float, default=RATE, help="of a topic, in messages per second")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--master", default=MASTER)
    parser.add_argument("--driver-memory", dest="memory", default=MEMORY)
    parser.add_argument("--lake", type=Path, help="Use this lake, or make it here if it is not there.")
    parser.add_argument("--out", type=Path, help="Keep here what the job writes.")
    print(json.dumps(measure(**vars(parser.parse_args())), indent=1))


if __name__ == "__main__":
    main()
