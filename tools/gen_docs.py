"""Writes the parts of docs/ that repeat the code: messages, error codes, limits, settings, status, jobs.

    python tools/gen_docs.py            write them
    python tools/gen_docs.py --check    fail if what is written differs from the code

A document keeps its hand-written text; what lies between `<!-- generated:NAME -->` and `<!-- end -->` is ours.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from causeway import config, errors, limits, trace
from causeway.cli import landmarks, view
from causeway.core import messages
from causeway.domains import limits as domain_limits
from causeway.drivers.aio.exits import Exit
from causeway.lake import limits as lake_limits
from causeway.lake.schema import KINDS
from causeway.pipeline.frame import JOBS
from causeway.placement import limits as placement_limits
from causeway.topics import limits as topic_limits

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ("wire", "errors", "lake", "limits", "operations", "pipeline")
SECTION = re.compile(r"(<!-- generated:(\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def cell(text: str) -> str:
    """Text that cannot break out of its table cell."""
    return " ".join(text.split()).replace("|", "\\|")


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


# Messages -------------------------------------------------------------------------------------------------------
def fields_of(struct: type[msgspec.Struct]) -> str:
    """Fields in wire order; those with a default may be missing at the end of the array."""
    shown = []
    for field in msgspec.structs.fields(struct):
        annotation = str(struct.__annotations__[field.name])
        if isinstance(union := getattr(messages, annotation, None), types.UnionType):
            annotation = " | ".join(each.__name__ for each in typing.get_args(union))  # a reader has no other place
        default = "" if field.required else f" = {field.default!r}"
        shown.append(f"{field.name}: {annotation}{default}")
    return cell("`" + ", ".join(shown) + "`") if shown else ""


def message_table() -> str:
    """Every message by tag, one table per module, then the structs that only occur inside them."""
    heads: tuple[type[msgspec.Struct], ...] = typing.get_args(messages.Message)
    by_module: dict[str, list[type[msgspec.Struct]]] = {}
    for struct in sorted(heads, key=tag_of):
        by_module.setdefault(struct.__module__, []).append(struct)
    parts = []
    for name, structs in by_module.items():
        title = name.rsplit(".", 1)[1]
        about = first_paragraph(inspect.getdoc(sys.modules[name]) or "")
        rows = [
            (str(tag_of(struct)), f"`{struct.__name__}`", cell(inspect.getdoc(struct) or ""), fields_of(struct))
            for struct in structs
        ]
        parts.append(f"### {title}\n\n{about}\n\n" + table(("tag", "message", "meaning", "fields"), rows))
    inner = [
        value
        for name in messages.__all__
        if isinstance(value := getattr(messages, name), type)
        and issubclass(value, msgspec.Struct)
        and value not in heads
    ]
    parts_of = [(f"`{struct.__name__}`", cell(inspect.getdoc(struct) or ""), fields_of(struct)) for struct in inner]
    parts.append("### Inside other messages\n\n" + table(("struct", "meaning", "fields"), parts_of))
    return "\n".join(parts)


def tag_of(struct: type[msgspec.Struct]) -> int:
    """The number that stands first in the struct's array on the wire."""
    tag = struct.__struct_config__.tag
    assert isinstance(tag, int), f"{struct.__name__} needs a numeric tag"
    return tag


def first_paragraph(text: str) -> str:
    """A docstring up to its first blank line, on one line."""
    return " ".join(text.split("\n\n", 1)[0].split())


# Error codes ----------------------------------------------------------------------------------------------------
def code_table() -> str:
    """Every code, whether it is worth trying again, and what people are told to do."""
    missing = [code.name for code in errors.Code if code not in errors.REMEDIES]
    if missing:
        raise SystemExit(f"errors.REMEDIES lacks {missing[0]}")
    rows = [
        (
            str(int(code)),
            f"`{code.name}`",
            "yes" if code in errors.RETRIABLE_CODES else "no",
            cell(errors.REMEDIES[code]),
        )
        for code in errors.Code
    ]
    return table(("code", "name", "try again", "remedy"), rows)


def exception_table() -> str:
    """Every exception a user can meet."""
    found = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.CausewayError) and value is not errors.CausewayError
    ]
    rows = [(f"`{kind.__name__}`", cell(inspect.getdoc(kind) or "")) for kind in found]
    return table(("exception", "meaning"), rows)


# Limits and settings --------------------------------------------------------------------------------------------
def constants(source: str) -> Iterator[tuple[str, str]]:
    """Every assigned name with the docstring on the line below it, or "": two names never share one."""
    body = ast.parse(source).body
    for node, below in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        reason = ""
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            reason = str(below.value.value) if below.lineno == (node.end_lineno or node.lineno) + 1 else ""
        yield node.target.id, reason


def limit_table() -> str:
    """Every bound of limits.py and of its like in packages with its reason; units are in the names."""
    rows = []
    for module in (limits, topic_limits, domain_limits, placement_limits, lake_limits):
        for name, reason in constants(inspect.getsource(module)):
            if name in ("KIB", "MIB"):
                continue
            if not reason:
                raise SystemExit(f"{module.__name__}.{name} needs its reason as a docstring on the next line")
            rows.append((f"`{name}`", amount(name, getattr(module, name)), cell(reason)))
    return table(("limit", "value", "reason"), rows)


def amount(name: str, value: object) -> str:
    """A value as people read it: whole MiB or KiB where the name says bytes."""
    if not isinstance(value, int):
        return f"`{value!r}`"
    if "BYTES" in name:
        for unit, size in (("GiB", 1024 * limits.MIB), ("MiB", limits.MIB), ("KiB", limits.KIB)):
            if value >= size and value % size == 0:
                return f"{value // size:,} {unit}"
    return f"{value:,}"


def described(kind: type) -> dict[str, str]:
    """The fields or members of a class with the docstring below each; "" where there is none."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    meanings: dict[str, str] = {}
    name = ""
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name):
            name = target.id
            meanings[name] = ""
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and name:
            meanings[name] = str(node.value.value)
    return meanings


def meaning_table(head: str, kind: type, shown: Callable[[str], str] = str) -> str:
    """Every field or member of a class with its meaning."""
    rows = []
    for name, meaning in described(kind).items():
        if not meaning:
            raise SystemExit(f"{kind.__name__}.{name} needs its meaning as a docstring on the next line")
        rows.append((f"`{shown(name)}`", cell(meaning)))
    return table((head, "meaning"), rows)


def setting_table() -> str:
    """Every field of BrokerConfig with its default."""
    meanings = described(config.BrokerConfig)
    rows = []
    for field in msgspec.structs.fields(config.BrokerConfig):
        if not meanings[field.name]:
            raise SystemExit(f"BrokerConfig.{field.name} needs its meaning as a docstring on the next line")
        annotation = str(config.BrokerConfig.__annotations__[field.name])
        default = "required" if field.required else setting(annotation, field.default)
        rows.append((f"`{field.name}`", default, cell(meanings[field.name])))
    return table(("setting", "default", "meaning"), rows)


def setting(annotation: str, value: object) -> str:
    """A default as people read it: durations in milliseconds."""
    if annotation == "Duration" and isinstance(value, int):
        return f"{value // 1_000_000:,} ms" if value >= 1_000_000 else f"{value // 1_000:,} us"
    if isinstance(value, int) and not isinstance(value, bool) and value > 4096:
        return amount("BYTES", value)
    return f"`{value!r}`"


def column_tables() -> str:
    """Every column of the lake, one table per kind."""
    parts = []
    for kind, columns in KINDS.items():
        rows = [(f"`{column.name}`", f"`{column.type}`", cell(column.meaning)) for column in columns]
        parts.append(f"### {kind}\n\n" + table(("column", "type", "meaning"), rows))
    return "\n".join(parts)


# Jobs of the pipeline -------------------------------------------------------------------------------------------
def job_tables() -> str:
    """Every job with what it reads, then every option of a job."""
    jobs = [
        (f"[{name}]({about(name)})", cell(job.what), job.reads and f"`{job.reads}`", "yes" if job.streams else "")
        for name, job in JOBS.items()
    ]
    options = [
        (f"`{name}`", f"`{option}`", cell(meaning))
        for name, job in JOBS.items()
        for option, meaning in job.options.items()
    ]
    return (
        table(("job", "what comes out", "rows it reads", "`--stream`"), jobs)
        + "\n"
        + table(("job", "option", "meaning (and default)"), options)
    )


def about(job: str) -> str:
    """Where a job is described: in a section of pipeline.md, or in a page of its own."""
    if f"\n## {job}\n" in (ROOT / "docs" / "pipeline.md").read_text():
        return f"#{job}"
    if not (ROOT / "docs" / f"{job}.md").exists():
        raise SystemExit(f"docs/pipeline.md needs a section `## {job}`, or the job a page docs/{job}.md")
    return f"{job}.md"


SECTIONS: dict[str, Callable[[], str]] = {
    "columns": column_tables,
    "jobs": job_tables,
    "messages": message_table,
    "codes": code_table,
    "exceptions": exception_table,
    "limits": limit_table,
    "settings": setting_table,
    "exits": lambda: meaning_table("exit code", Exit, lambda name: str(int(Exit[name]))),
    "brokers": lambda: meaning_table("field of a broker", view.BrokerLine),
    "landmarks": lambda: meaning_table("field of a domain", landmarks.WatchedDomain),
    "mailboxes": lambda: meaning_table("field of a mailbox", view.MailboxLine),
    "steps": lambda: meaning_table("step", trace.Step, str.lower),
}


def render(text: str) -> str:
    """The document with every generated section as the code says now."""
    return SECTION.sub(lambda hit: f"{hit[1]}{SECTIONS[hit[2]]()}{hit[3]}", text)


def main() -> int:
    """Write or check all documents."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing, fail on a difference")
    check: bool = parser.parse_args().check
    stale = []
    for path in (ROOT / "docs" / f"{name}.md" for name in DOCUMENTS):
        text = path.read_text()
        wanted = render(text)
        if text != wanted:
            stale.append(path.name)
            if not check:
                path.write_text(wanted)
    if check and stale:
        print(f"differs from the code: {', '.join(stale)}; run `make generate`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
