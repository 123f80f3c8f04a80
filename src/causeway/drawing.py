"""Figures as PNG and SVG, readable without colour. matplotlib is asked for only here, and only when something is drawn.

Owns: how a figure looks. Must not know: what it shows.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final

from causeway.extras import require
from causeway.figures import Bars, Curve, Figure

STYLES: Final = (
    ("o", "-", "0.0"),
    ("s", "--", "0.3"),
    ("^", "-.", "0.45"),
    ("D", ":", "0.15"),
)
"""Mark, line and grey of each style: any one of them tells it from the others."""

FILLS: Final = (
    ("0.85", ""),
    ("1.0", ""),
    ("0.95", "...."),
    ("0.8", "////"),
    ("1.0", "----"),
    ("0.6", "xxxx"),
    ("0.1", ""),
)
"""Grey and hatching of each style of bars, the worst last."""

TICKS_MAX: Final = 12
DOTS_PER_INCH: Final = 200
CURVE_ASIDE: Final = 0.028
MARK_ASIDE: Final = 0.14
"""Inches between curves with ranges, and between marks that nothing joins, at one place: they stand side by side."""
WORDS_AT_END_MAX: Final = 12
"""A formula with more characters begins where its line does."""
LETTER: Final = 0.018
"""Width of a digit at an axis, as a part of what lies between its first and its last tick."""
LEGEND_POINTS: Final = (9, 8, 7, 6)
"""Sizes of its words, the first that is not too wide."""


def check_drawing(extra: str) -> None:
    """Say before minutes of work what is missing to draw its result; `extra` is what its users install."""
    require(extra, "matplotlib", field="command", value=extra)


def draw(figure: Figure | Bars, folder: Path) -> list[Path]:
    """Write `NAME.png` and `NAME.svg`; both are the same for the same figure."""
    import matplotlib as mpl

    settings: dict[Any, Any] = {
        "font.size": 9,
        "svg.fonttype": "none",
        "svg.hashsalt": figure.name,
        "axes.unicode_minus": False,
    }
    with mpl.rc_context(settings):
        canvas = _bars_canvas(figure) if isinstance(figure, Bars) else _curves_canvas(figure)
        paths = [folder / f"{figure.name}.png", folder / f"{figure.name}.svg"]
        canvas.savefig(paths[0], metadata={"Software": None})
        canvas.savefig(paths[1], metadata={"Date": None, "Creator": None})
    return paths


def _bars_canvas(figure: Bars) -> Any:
    """One line per bar, the first at the top; parts are told apart by grey and by hatching."""
    from matplotlib.figure import Figure as Canvas
    from matplotlib.patches import Patch

    canvas = Canvas(figsize=(7.4, 1.6 + 0.26 * len(figure.bars)), dpi=DOTS_PER_INCH, layout="constrained")
    axes = canvas.add_subplot()
    axes.set(title=figure.title, xlabel=figure.x_label)
    longest = max((at + length for bar in figure.bars for at, length, _ in bar.parts), default=1.0)
    for place, bar in enumerate(figure.bars):
        for at, length, style in bar.parts:
            face, hatch = FILLS[style % len(FILLS)]
            axes.barh(place, length, left=at, height=0.7, color=face, hatch=hatch, edgecolor="0.2", linewidth=0.5)
        axes.text(1.01 * longest, place, bar.words, va="center", color="0.35")
    axes.set_yticks(range(len(figure.bars)), [bar.label for bar in figure.bars])
    axes.set_xlim(0, 1.2 * longest)  # room for the words
    axes.set_xticks([tick for tick in axes.get_xticks() if 0 <= tick <= 1.001 * longest])
    axes.set_ylim(len(figure.bars) - 0.4, -0.6)
    axes.grid(visible=True, axis="x", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    used = sorted({style for bar in figure.bars for _, _, style in bar.parts})
    keys = [
        Patch(
            facecolor=FILLS[style % len(FILLS)][0],
            hatch=FILLS[style % len(FILLS)][1],
            edgecolor="0.2",
            linewidth=0.5,
            label=figure.styles[style],
        )
        for style in used
    ]
    canvas.legend(handles=keys, loc="outside lower center", ncols=4, frameon=False)
    return canvas


def _curves_canvas(figure: Figure) -> Any:
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(6.4, 4.4), dpi=DOTS_PER_INCH, layout="constrained")
    axes = canvas.add_subplot()
    axes.set(title=figure.title, xlabel=_with_note(figure), ylabel=figure.y_label)
    axes.set(xscale=figure.scale, yscale=figure.y_scale or figure.scale)
    for curve in figure.curves:
        if curve.formula:
            _draw_formula(axes, curve, figure)
        else:
            _draw_measured(axes, curve, _aside(figure, curve))
    axes.margins(x=0.1, y=0.1)
    _place_ticks(axes, figure)
    axes.grid(visible=True, which="major", color="0.9", linewidth=0.6)
    # Beside the axes: curves that cross leave no corner free for it.
    for points in LEGEND_POINTS:
        legend = canvas.legend(
            loc="outside lower center", ncols=2, frameon=False, handlelength=4.0, fontsize=points, columnspacing=1.5
        )
        if legend.get_window_extent().width <= canvas.bbox.width or points == LEGEND_POINTS[-1]:
            break
        legend.remove()
    return canvas


def _with_note(figure: Figure) -> str:
    """Under the axis: what the bars are, where there are some; and that curves are not quite where they belong."""
    if not _has_ranges(figure):
        return figure.x_label
    aside = ";\ncurves stand a little side by side" if any(_aside(figure, curve) for curve in figure.curves) else ""
    return f"{figure.x_label}\n(bars: {figure.bars}, behind marks where short{aside})"


def _has_ranges(figure: Figure) -> bool:
    return any(high > low for curve in figure.curves for low, high in curve.ranges)


def _aside(figure: Figure, curve: Curve) -> float:
    """Inches by which a curve is moved. Marks go with their ranges: a bar beside its mark looks like another point."""
    moved = [one for one in figure.curves if one.marked and not one.formula]
    apart = figure.scale == "linear" and not any(one.joined for one in moved)  # each place is a name, no number
    if curve not in moved or not (apart or _has_ranges(figure)):
        return 0.0
    return (moved.index(curve) - (len(moved) - 1) / 2) * (MARK_ASIDE if apart else CURVE_ASIDE)


def _draw_formula(axes: Any, curve: Curve, figure: Figure) -> None:
    """With its words at its end, many at its beginning: above it, or below where something was measured above."""
    axes.plot(curve.xs, curve.ys, linestyle=(0, (1, 1)), color="0.6", linewidth=1.0)
    at = -1 if len(curve.formula) <= WORDS_AT_END_MAX else 0
    end = (curve.xs[at], curve.ys[at])
    measured = [point for one in figure.curves if not one.formula for point in zip(one.xs, one.ys, strict=True)]
    below = any(x == end[0] and y > end[1] for x, y in measured)
    axes.annotate(
        curve.formula,
        end,
        xytext=(0, -5 if below else 4),
        textcoords="offset points",
        color="0.35",
        horizontalalignment="left" if at == 0 else "center",
        verticalalignment="top" if below else "baseline",
    )


def _draw_measured(axes: Any, curve: Curve, aside: float) -> None:
    """Bars behind, then the line, then its marks, which hide both; large hollow marks behind what they surround."""
    from matplotlib.transforms import ScaledTranslation

    mark, line, grey = STYLES[curve.style % len(STYLES)]
    moved = axes.transData + ScaledTranslation(aside, 0, axes.figure.dpi_scale_trans)
    (drawn,) = axes.plot(curve.xs, curve.ys, label=curve.label, color=grey, linewidth=1.2)
    drawn.set(marker=mark if curve.marked else "none", markerfacecolor="white" if curve.hollow else grey)
    large = curve.hollow and not curve.joined
    drawn.set(linestyle=line if curve.joined else "none", markersize=8.0 if large else 5.0, zorder=1.95 if large else 2)
    drawn.set_transform(moved)
    for x, (low, high) in zip(curve.xs, curve.ranges, strict=False):
        if high > low:
            (bar,) = axes.plot((x, x), (low, high), color=grey, linewidth=0.9, marker="_", markersize=4.0, zorder=1.9)
            bar.set_transform(moved)


def _place_ticks(axes: Any, figure: Figure) -> None:
    """Ticks where something was measured, if that is in few places; a zero that is seen."""
    xs = sorted({x for curve in figure.curves for x in curve.xs})
    if figure.x_names:
        turned = {"rotation": 90, "fontsize": 6} if len(figure.x_names) > TICKS_MAX else {}
        axes.set_xticks(range(len(figure.x_names)), figure.x_names, **turned)
    elif figure.scale == "log":
        ticks = _spaced([round(x) for x in xs])
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.set_xticks([], minor=True)
    elif len(xs) <= TICKS_MAX:
        axes.set_xticks(xs, [f"{x:g}" for x in xs])
    if (figure.y_scale or figure.scale) == "linear":
        heights = [y for curve in figure.curves for y in (*curve.ys, *(high for _low, high in curve.ranges))]
        if min(heights) < 0:
            axes.axhline(0, color="0.6", linewidth=0.8)
        else:
            axes.set_ylim(0, 1.08 * (max(heights) or 1.0))  # nothing but zeros is a line at the bottom
        if all(isinstance(height, int) for height in heights):
            axes.yaxis.get_major_locator().set_params(integer=True)


def _spaced(ticks: list[int]) -> list[int]:
    """Of these numbers so few that their labels do not touch on a logarithmic axis."""
    width = LETTER * math.log(ticks[-1] / ticks[0]) if ticks and ticks[0] > 0 else 0.0
    kept: list[int] = []
    for tick in ticks:
        apart = math.exp(width * (len(f"{tick:,}") + len(f"{kept[-1]:,}")) / 2) if kept else 1.0
        if not kept or tick >= max(1.4, apart) * kept[-1]:
            kept.append(tick)
    return kept
