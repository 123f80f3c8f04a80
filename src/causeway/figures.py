"""Figures as records: points and words. `drawing` makes pictures of them; who fills them needs no matplotlib.

Owns: these records. Must not know: how a figure is drawn, where files go.
"""

from __future__ import annotations

import msgspec


class Curve(msgspec.Struct, frozen=True):
    """Points that belong together, with the range over seeds where there is one."""

    label: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    ranges: tuple[tuple[float, float], ...] = ()
    style: int = 0
    """Curves of one style belong together, in all figures of a report."""
    hollow: bool = False
    """The second of two curves of one style."""
    marked: bool = True
    """False: a line alone, for many points."""
    joined: bool = True
    """False: marks alone."""
    formula: str = ""
    """What is written beside it, instead of in the legend: nothing was measured."""


class Figure(msgspec.Struct, frozen=True):
    """One figure, as it is to be drawn."""

    name: str
    """Of its files, without an ending."""
    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    scale: str = "log"
    """Of both axes: `log`, or `linear` and from 0 on where nothing is negative."""
    y_scale: str = ""
    """Of the upright axis, where it is another."""
    x_names: tuple[str, ...] = ()
    """Of the places 0, 1, 2 and so on, if the horizontal axis has names instead of numbers."""
    bars: str = "least and greatest of all seeds"
    """What ranges are; written under the axes where a curve has some."""


class Bar(msgspec.Struct, frozen=True):
    """One line of a picture of bars."""

    label: str
    parts: tuple[tuple[float, float, int], ...]
    """Where each begins, how long it is, and its style."""
    words: str = ""
    """Written at its end."""


class Bars(msgspec.Struct, frozen=True):
    """Bars beside each other, each of parts; as it is to be drawn."""

    name: str
    """Of its files, without an ending."""
    title: str
    x_label: str
    bars: tuple[Bar, ...]
    styles: tuple[str, ...]
    """What each style means."""
