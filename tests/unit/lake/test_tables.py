from __future__ import annotations

import random
import subprocess
import sys

import pyarrow as pa
import pytest

from causeway.lake.schema import KINDS
from causeway.lake.segments import WriterName
from causeway.lake.tables import SCHEMAS, events_batch, rows_batch
from causeway.trace import TraceRecord

WRITER = WriterName("b1", "broker", 5)
NAMES = ["", "shop", "grüße/😀", "x" * 300]


def some_record(rng: random.Random) -> TraceRecord:
    numbers = [rng.choice([0, 1, -5, (1 << 62) + rng.getrandbits(40)]) for _ in range(8)]
    names = [rng.choice(NAMES) for _ in range(8)]
    flags = [rng.random() < 0.5 for _ in range(2)]
    small = [rng.randrange(-3, 1 << 30) for _ in range(4)]
    return TraceRecord(
        numbers[0], names[0], small[0], names[1], numbers[1], names[2], small[1], numbers[2], numbers[3], names[3],
        small[2], *flags, *names[4:8], numbers[4], small[3], numbers[5],
    )  # fmt: skip


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 64, 500])
def test_every_value_is_in_its_column(count: int) -> None:
    rng = random.Random(count)
    for records in ([some_record(rng) for _ in range(count)], [some_record(rng)] * count):
        rows = events_batch(records, WRITER, 41).to_pylist()
        own = ("version", "writer", "role", "life", "sequence")
        assert [row["sequence"] for row in rows] == list(range(41, 41 + count))
        for record, row in zip(records, rows, strict=True):
            assert {name: getattr(record, name) for name in row if name not in own}.items() <= row.items()


def test_rows_with_lists_are_as_arrow_itself_makes_them() -> None:
    rows = [(1, "a", 0, "stored", [1, 5], [10, 1 << 40]), (2, "b", 1, "held", [], []), (2, "b", 1, "held", [7], [3])]
    batch = rows_batch("latency", rows, WRITER)
    batch.validate(full=True)
    assert batch.schema == SCHEMAS["latency"]
    made = [tuple(row.values())[4:] for row in batch.to_pylist()]
    assert made == rows
    lists = pa.array([row[4] for row in rows], pa.list_(pa.int32()))
    assert batch.column("buckets").equals(lists)


def test_schemas_are_those_of_the_lake() -> None:
    for kind, columns in KINDS.items():
        assert [(field.name, str(field.type).replace("item: ", "")) for field in SCHEMAS[kind]] == [
            (column.name, column.type) for column in columns
        ]


def test_writing_loads_no_pandas() -> None:
    program = """
import sys, tempfile
from pathlib import Path
from causeway.lake.writer import LakeWriter, WriterName
from causeway.trace import Step, TraceRecord
writer = LakeWriter(Path(tempfile.mkdtemp()), WriterName("b1", "broker", 1))
for n in range(1, 9):
    step = Step.STORED if n % 2 else Step.SETTLED
    writer.take([TraceRecord(n, "b1", step, f"s{n}", 1, "box", 1, n, n, "", 1, bool(n % 2), False, "", "box")])
writer.close(9)
assert writer.failures == 0
print("pandas" in sys.modules)
"""
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "False\n"
    )
