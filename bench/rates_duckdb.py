"""What the job `rates` computes, by DuckDB on one thread: `python -m bench.rates_duckdb LAKE OUT`.

With the job's usual options (windows of a second, periods of 900 s, the peak from the upper quartile on), of a lake of
one domain without gaps. DuckDB adds up, numpy makes the covariance of dense samples. Writes what the job writes.
Owns: this other way to the same numbers. Must not know: the job.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

PERIOD = 900
PEAK = 0.75
MEMORY = "2GB"

CELLS = """
CREATE TEMP TABLE cells AS
SELECT item, name, second, second // {period} AS period, sum(messages_in)::DOUBLE AS messages, max(writer) AS writer
FROM read_parquet('{lake}/day=*/domain=*/kind=telemetry/*.parquet')
WHERE item NOT IN ('', 'causeway/seats') AND messages_in > 0
GROUP BY ALL
"""
TOPICS = """
COPY (
    SELECT item, name, count(*) AS active, sum(messages) / {windows} AS mean, max(messages) AS largest,
        sqrt(count(*) * (var_pop(messages) + avg(messages) ** 2 * ({windows} - count(*)) / {windows}) / ({windows} - 1))
            AS deviation
    FROM cells GROUP BY ALL
) TO '{out}/topics.parquet'
"""
SERIES = """
COPY (
    SELECT item, name, list(rate ORDER BY period) AS rates FROM (
        SELECT topics.item, topics.name, period, coalesce(messages, 0) / {period_seconds} AS rate
        FROM (SELECT DISTINCT item, name FROM cells) AS topics
        CROSS JOIN (SELECT DISTINCT period FROM cells)
        LEFT JOIN (SELECT item, name, period, sum(messages) AS messages FROM cells GROUP BY ALL) AS sums
        USING (item, name, period)
    ) GROUP BY ALL
) TO '{out}/series.parquet'
"""
ITEMS = """
COPY (SELECT item, count(DISTINCT name) AS topics, max_by(writer, second) AS owner FROM cells GROUP BY item)
TO '{out}/items.parquet'
"""
SAMPLES = """
SELECT second, dense_rank() OVER (ORDER BY item) - 1 AS number, sum(messages) AS messages
FROM cells WHERE list_contains({peaks}, period) GROUP BY second, item
"""


def main(lake: str, out: str) -> None:
    """All of it."""
    database = duckdb.connect(config={"threads": 1, "memory_limit": MEMORY, "temp_directory": str(Path(out) / "tmp")})
    database.execute(CELLS.format(lake=lake, period=PERIOD))
    first, last = _column(database, "SELECT unnest([min(second), max(second)]) AS found FROM cells")
    windows = int(last - first + 1)
    database.execute(TOPICS.format(windows=windows, out=out))
    database.execute(SERIES.format(period_seconds=PERIOD, out=out))
    database.execute(ITEMS.format(out=out))
    periods = database.execute(
        "SELECT period, sum(messages) AS messages FROM cells GROUP BY ALL ORDER BY period"
    ).fetchnumpy()
    begins = np.maximum(periods["period"] * PERIOD, first)
    seconds = np.minimum((periods["period"] + 1) * PERIOD, last + 1) - begins
    rates = periods["messages"] / seconds
    peak = rates >= np.quantile(rates, PEAK)
    items = _column(database, "SELECT DISTINCT item AS found FROM cells ORDER BY item")
    found = database.execute(SAMPLES.format(peaks=periods["period"][peak].tolist())).fetchnumpy()
    rows = np.full(windows, -1)
    wanted = np.concatenate(
        [np.arange(begin, begin + count) for begin, count in zip(begins[peak], seconds[peak], strict=True)]
    )
    rows[wanted - first] = np.arange(len(wanted))
    dense = np.zeros((len(wanted), len(items)))
    dense[rows[found["second"] - first], found["number"]] = found["messages"]
    names = np.array(items, dtype=str)
    np.savez(Path(out) / "moments.npz", items=names, means=dense.mean(axis=0), covariance=np.cov(dense, rowvar=False))


def _column(database: Any, query: str) -> Any:
    return database.execute(query).fetchnumpy()["found"]


if __name__ == "__main__":
    main(*sys.argv[1:])
