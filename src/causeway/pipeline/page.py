"""What a job found as a page: its pictures, and its summary as a table. Owns: how it looks. Must not know: any job."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

from causeway.lake.locations import locate

PAGE: Final = "page.html"
STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1f2328; }
h1 { font-size: 1.9rem; margin: 0; } h2 { font-size: 1.2rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #d0d7de; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
img, svg { width: 100%; height: auto; } .bad { color: #b3261e; font-weight: 600; } .quiet { color: #656d76; }
pre { white-space: pre-wrap; font-size: .85rem; }
"""
"""Of all pages."""
_XML_HEAD: Final = re.compile(r"^.*?(?=<svg)", re.DOTALL)


def write_page(title: str, summary: Mapping[str, Any], pictures: Sequence[str], tables: Iterable[str], out: str) -> str:
    """Write the page beside its pictures; its name. It has them inside, so that it can be sent away alone."""
    (locate(out) / PAGE).write(page_of(title, summary, drawn_in(pictures, out), tables).encode())
    return PAGE


def drawn_in(pictures: Iterable[str], out: str) -> list[str]:
    """Pictures as they stand inside a page."""
    drawn = (locate(out) / name for name in pictures if name.endswith(".svg"))
    return [_XML_HEAD.sub("", picture.read().decode(), count=1) for picture in drawn]


def page_of(title: str, summary: Mapping[str, Any], drawn: Iterable[str], tables: Iterable[str]) -> str:
    """The page; `drawn` are pictures as SVG."""
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title><style>{STYLE}</style>"
    return f"{head}\n{body_of(title, summary, drawn, tables)}</html>\n"


def body_of(title: str, summary: Mapping[str, Any], drawn: Iterable[str], tables: Iterable[str]) -> str:
    """The same for a page that somebody else has, such as a notebook."""
    parts = [
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{picture}</p>" for picture in drawn),
        "<h2>In numbers</h2><table>",
        *(f"<tr><td>{escape(name.replace('_', ' '))}<td>{_cell(value)}</tr>" for name, value in summary.items()),
        "</table>",
        f"<p class=quiet>Beside this page: {escape(', '.join(tables)) or 'nothing'}.</p>",
    ]
    return "\n".join(parts) + "\n"


def _cell(value: Any) -> str:
    if isinstance(value, Mapping):
        rows = (f"<tr><td>{escape(str(name).replace('_', ' '))}<td>{_cell(one)}</tr>" for name, one in value.items())
        return f"<table>{''.join(rows)}</table>" if value else "nothing"
    if isinstance(value, list | tuple):
        return "<br>".join(map(_cell, value)) or "nothing"
    return escape(shown(value))


def shown(value: Any) -> str:
    """A value as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if value is None else str(value)
