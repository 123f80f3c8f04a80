"""An evaluation as files: results.json, each table as CSV and Parquet, figures, report.md; and an index of several.

Parquet is written where pyarrow is installed (the extra `pipeline`); CSV always, with the same rows.

Owns: files. Must not know: numbers.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from causeway.drawing import draw
from causeway.evaluate.evaluation import Conclusion, Evaluation

COMMITTED: Final = "docs/evaluation"
"""Where the repository has the quick reports."""


class Digits(str):
    """A number with the digits that it has to be shown with: those that a paper prints."""

    __slots__ = ()


def write(evaluation: Evaluation, folder: Path) -> list[Path]:
    """All files of an evaluation; those that were there before are overwritten."""
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / "results.json"
    results.write_text(json.dumps(evaluation.as_json(), indent=1, ensure_ascii=False) + "\n")
    written = [results]
    for name, rows in evaluation.tables.items():
        path = folder / f"{name}.csv"
        path.write_text(as_csv(rows))
        written.append(path)
        if has_parquet():
            written.append(_write_parquet(rows, folder / f"{name}.parquet"))
    for figure in evaluation.figures:
        written += draw(figure, folder)
    report = folder / "report.md"
    report.write_text(as_report(evaluation))
    return [*written, report]


def has_parquet() -> bool:
    """Whether tables are written as Parquet, too."""
    return importlib.util.find_spec("pyarrow") is not None


def _write_parquet(rows: Sequence[dict[str, Any]], path: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(list(rows)), path)
    return path


def write_index(evaluations: Sequence[Evaluation], folder: Path, command: str) -> list[Path]:
    """What several evaluations in folders of their names found: report.md and results.json."""
    report, results = folder / "report.md", folder / "results.json"
    report.write_text(as_index(evaluations, command))
    results.write_text(json.dumps(index_json(evaluations, command), indent=1, ensure_ascii=False) + "\n")
    return [report, results]


def index_json(evaluations: Sequence[Evaluation], command: str) -> dict[str, Any]:
    """The claims of several; their numbers are in the folder of each."""
    claims = {one.experiment: [msgspec.to_builtins(claim) for claim in one.claims] for one in evaluations}
    return {"command": command, "experiments": claims}


def as_index(evaluations: Sequence[Evaluation], command: str) -> str:
    """A line per report, and every claim that did not hold; what papers say and our own goals apart."""
    lines = ["# What the papers claim, measured with this product", "", *_made_by(command, COMMITTED)]
    lines += [as_markdown([_counted(one) for one in evaluations]), ""]
    for heading, ours in (("claim of a paper", False), ("goal of our own", True)):
        failed = [
            {"report": one.experiment, f"{heading} that does not hold": c.claim, "held": c.verdict, "found": c.found}
            for one in evaluations
            for c in one.claims
            if not c.held and c.ours == ours
        ]
        lines += [as_markdown(failed) if failed else f"Every {heading} holds.", ""]
    lines += ["*No, as known*: the report says why; *NO*: it held so far, and something is broken.", ""]
    return "\n".join(lines)


def _counted(one: Evaluation) -> dict[str, Any]:
    """The line of one report."""
    papers, goals = ([claim for claim in one.claims if claim.ours == ours] for ours in (False, True))
    return {
        "report": f"[{one.title}]({one.experiment}/report.md)",
        "claims of the paper": len(papers),
        "hold": sum(claim.held for claim in papers),
        "goals of our own": len(goals),
        "met": sum(claim.held for claim in goals),
        "do not hold, as known": sum(not claim.held and not claim.asserted for claim in one.claims),
    }


def _made_by(command: str, folder: str) -> list[str]:
    """How to have it again."""
    words = f"Generated; this makes it again, with `--out {folder}` where the repository has it:"
    return [words, "", "```sh", command, "```", ""]


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """One table."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def as_report(evaluation: Evaluation) -> str:
    """What people read: the claims first."""
    lines = [f"# {evaluation.title}", ""]
    lines += _made_by(evaluation.command, f"{COMMITTED}/{evaluation.experiment}")
    for heading, ours in (("what the paper says", False), ("goals of our own, and past the paper", True)):
        rows = [{heading: c.claim, "held": c.verdict, "found": c.found} for c in evaluation.claims if c.ours == ours]
        lines += [as_markdown(rows), ""] if rows else []
    lines += [_with_claims(evaluation.text.strip(), evaluation.claims), ""]
    return "\n".join(lines)


def _with_claims(text: str, claims: Sequence[Conclusion]) -> str:
    """Under the heading of a section that is about a figure or table of the paper, what is claimed of that one."""
    lines = []
    for line in text.splitlines():
        lines.append(line)
        if line.startswith("## "):
            lines += [quoted for claim in claims if labels(claim.claim) & labels(line) for quoted in _quoted(claim)]
    return "\n".join(lines)


def _quoted(claim: Conclusion) -> list[str]:
    return ["", f"> {claim.claim}: **{claim.outcome}**; {claim.found}."]


def labels(text: str) -> set[tuple[str, str]]:
    """The figures and tables that are named: `Fig. 6a` as ("Fig", "6"), `Tables I to III` as the first and the last."""
    found = re.findall(r"\b(Fig|Tab)[a-z.]* ((?:\d+|[IVX]+\b)(?:[a-z]?(?:, | and | to )(?:\d+|[IVX]+\b))*)", text)
    return {(kind, number) for kind, numbers in found for number in re.findall(r"\d+|[IVX]+", numbers)}


def as_markdown(rows: Sequence[dict[str, Any]]) -> str:
    """A table; numbers to the right, with three significant digits unless they are `Digits`."""
    names = list(rows[0])
    numeric = [all(isinstance(row[name], int | float | Digits) for row in rows) for name in names]
    lines = ["| " + " | ".join(names) + " |", "|" + "|".join("---:" if right else "---" for right in numeric) + "|"]
    lines += ["| " + " | ".join(shown(row[name]) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def shown(value: object) -> str:
    """A value as people read it."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
