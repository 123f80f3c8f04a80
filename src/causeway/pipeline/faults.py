"""Spark's failures as Causeway's errors: one line that says what stopped the job and what to do.

Spark's own text stays attached as the cause, for who wants it; nobody has to read it.
Owns: which failure means what. Must not know: any job.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from causeway.errors import CausewayError, LakeError, PipelineError
from causeway.pipeline.quality import BAD_ROW, bad_row

_PATH: Final = re.compile(r"(?:file:)?(/[^\s'\"\]]+\.parquet)")
_TEXT_MAX: Final = 300

_READING: Final = (
    "FAILED_READ_FILE",
    "CANNOT_READ_FILE_FOOTER",
    "ParquetDecodingException",
    "is not a Parquet file",
    "SchemaColumnConvertNotSupported",
    "PARQUET_COLUMN_DATA_TYPE_MISMATCH",
    "Could not read footer",
)
_REMEDIES: Final = (
    (("OutOfMemoryError", "GC overhead"), "memory ran out", "give more with --driver-memory, or more executors"),
    (("No space left on device",), "the disk is full", "make room where Spark keeps its temporary files and in --out"),
    (("Permission denied", "AccessControlException"), "a file may not be read or written", "mind its permissions"),
    (
        ("Connection refused", "All masters are unresponsive", "Could not parse Master URL", "master URL"),
        "the Spark master cannot be used",
        "mind --master: local[*], or the URL of a running cluster",
    ),
    (
        ("Py4JNetworkError", "Answer from Java side is empty", "JAVA_GATEWAY_EXITED"),
        "the Java process ended",
        "it may have run out of memory (--driver-memory); `java -version` must say 17 or newer",
    ),
    (
        ("STREAMING_STATE", "STATE_STORE_", "OffsetSeq", "Error reading delta file"),
        "what the stream wrote down does not fit",
        "give another --checkpoint and --out: the stream then begins anew with what the lake still has",
    ),
)


@contextmanager
def spark_errors() -> Iterator[None]:
    """Whatever Spark raises inside comes out as a CausewayError."""
    try:
        yield
    except CausewayError:
        raise
    except Exception as error:
        translated = translate(error)
        if translated is None:
            raise
        raise translated from error


def translate(error: BaseException) -> PipelineError | None:
    """What a failure of Spark means; None if it is not Spark's."""
    kind = f"{type(error).__module__}.{type(error).__name__}"
    if not kind.startswith(("pyspark.", "py4j.")):
        return None
    text = f"{type(error).__name__}: {error}"
    if BAD_ROW in text:
        said = text.split(BAD_ROW, 1)[1].split("\n", 1)[0].split("SQLSTATE", 1)[0].rstrip(" .")
        return bad_row(said)
    path = _PATH.search(text)
    if any(mark in text for mark in _READING):
        place = path.group(1) if path else "a segment"
        return LakeError(place, f"cannot be read ({_first_line(text)})", "move it out of the lake and run again")
    for marks, problem, remedy in _REMEDIES:
        if any(mark in text for mark in marks):
            return PipelineError(f"{problem} ({_first_line(text)})", remedy)
    return PipelineError(f"Spark stopped the job ({_first_line(text)})", "the whole text is in the error's cause")


def _first_line(text: str) -> str:
    """The line that says most: that of the error, without frames of the JVM or of Python."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    wanted = [line for line in lines if not line.startswith(("at ", "File ", "Traceback", "JVM stacktrace"))]
    # What a function of ours raised on an executor stands at the end of Python's traceback.
    raised = [line for line in wanted if re.match(r"(?:[a-z_]+\.)*[A-Z]\w+(?:Error|Exception)?: ", line)]
    chosen = raised[-1] if "PythonException" in text and raised else wanted[0]
    return chosen if len(chosen) <= _TEXT_MAX else chosen[: _TEXT_MAX - 3] + "..."
