"""Rings of a hundred thousand and a million brokers: hops, tables and upkeep, by a model that is checked first.

Owns: which rings are built and which are modelled, and how they are compared. Must not know: how either is done.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from causeway.config import BrokerConfig
from causeway.core.overlay.upkeep import MAINTAIN_EVERY
from causeway.evaluate import ring_counts, ring_model
from causeway.evaluate.evaluation import Evaluation, Extent
from causeway.evaluate.fits import another
from causeway.evaluate.internet_words import TOLERANCES, conclusions, text
from causeway.evaluate.ring_counts import JOINED, KNOWN, SETTLED, TABLES, RingCount, RingCountCase
from causeway.evaluate.ring_model import ModelCase, ModelledRing, RingUpkeep, asked_after, upkeep_of
from causeway.figures import Curve, Figure
from causeway.spread import run_cases
from causeway.types import SECOND

TITLE: Final = "Rings of a million brokers: hops, tables and upkeep"

CALM: Final = (10.0, 60.0)
"""Heartbeat and silence with which many brokers are simulated: signs of life are most of all frames otherwise."""
_TOLD_NOTHING: Final = BrokerConfig(name="usual")
USUAL: Final = (_TOLD_NOTHING.heartbeat / SECOND, _TOLD_NOTHING.silence / SECOND)
"""Those of a broker that is told nothing."""
WAVE: Final = asked_after(*CALM)
"""Seconds between two signs of life on a quiet link of a calm ring."""

ROUND: Final = WAVE * math.ceil(MAINTAIN_EVERY / SECOND / WAVE)
"""Seconds in which every broker of a ring that joined sees after its routing table: they began to at the same time."""

FRAMES: Final = {
    "leaves": ("Leaves",),
    "row_requests": ("RowRequest",),
    "row_replies": ("RowReply",),
    "hails": ("Hail",),
    "greetings": ("Hello", "Welcome"),
    "goodbyes": ("Goodbye",),
    "signs": ("Beat", "Ping", "Echo"),
}
"""What the model calls frames, and their types. It counts greetings and signs once, and each is answered."""
RING: Final = ("leaves", "row_requests", "row_replies", "hails")
LIFE: Final = ("greetings", "goodbyes", "signs")
ANSWERED: Final = ("greetings", "signs")


class RingPlan(msgspec.Struct, frozen=True):
    """What is built, and what is modelled."""

    rings: tuple[RingCountCase, ...]
    modelled: tuple[int, ...]
    seeds: int
    lookups: int
    """Of each modelled ring."""


QUICK: Final = RingPlan(
    rings=(
        RingCountCase(JOINED, 256, *CALM, ROUND, 3_000),
        RingCountCase(KNOWN, 1_024, *CALM, WAVE, 3_000),
        RingCountCase(KNOWN, 128, *USUAL, 10.0, 2_000),
        RingCountCase(TABLES, 16_384, *CALM, 0.0, 3_000),
    ),
    modelled=(128, 256, 1_024, 16_384, 100_000, 1_000_000),
    seeds=3,
    lookups=20_000,
)
FULL: Final = RingPlan(
    rings=(
        RingCountCase(KNOWN, 16_384, *CALM, WAVE, 10_000),
        RingCountCase(JOINED, 1_024, *CALM, ROUND, 10_000),
        *QUICK.rings[:3],
        RingCountCase(KNOWN, 256, *USUAL, 10.0, 5_000),
    ),
    modelled=QUICK.modelled,
    seeds=5,
    lookups=100_000,
)

SAMPLE_MAX: Final = 4_000
"""Brokers of a modelled ring whose tables are counted."""

Case = RingCountCase | ModelCase
Found = RingCount | ModelledRing


def plan_cases(plan: RingPlan, seed: int) -> list[Case]:
    """Every ring of a plan, the longest first."""
    rings = [msgspec.structs.replace(case, seed=seed) for case in plan.rings]
    models = [
        ModelCase(brokers, plan.lookups, min(brokers, SAMPLE_MAX), seed + add)
        for brokers in reversed(plan.modelled)
        for add in range(plan.seeds)
    ]
    return [*sorted(rings, key=lambda case: -case.weight), *models]


def measure_either(case: Case) -> Found:
    """One ring, of brokers or of arrays."""
    return ring_counts.measure(case) if isinstance(case, RingCountCase) else ring_model.measure(case)


def evaluate(extent: Extent, tick: Callable[[int, int], None] = lambda done, total: None) -> Evaluation:
    """Build, model and compare everything; `tick` hears how much of the work is done."""
    cases = plan_cases(QUICK if extent.quick else FULL, extent.seed)
    found = run_cases(measure_either, cases, extent.spread, tick)
    counts = [one for one in found if isinstance(one, RingCount)]
    models = [one for one in found if isinstance(one, ModelledRing)]
    return evaluated(counts, models, extent)


def evaluated(counts: Sequence[RingCount], models: Sequence[ModelledRing], extent: Extent) -> Evaluation:
    """What all of them say."""
    by_size: dict[int, list[ModelledRing]] = {}
    for model in models:
        by_size.setdefault(model.brokers, []).append(model)
    joined = max((count for count in counts if count.how == JOINED), key=lambda count: count.brokers)
    sizes, told = sizes_of(joined), mean_of(by_size[joined.brokers], "row_told")
    tables = {
        "rings": [ring_row(by_size[brokers], sizes, told) for brokers in sorted(by_size)],
        "agreement": [row for count in sorted(counts, key=_order) for row in agreement(count, by_size[count.brokers])],
        "frame_sizes": [{"frames": name, "bytes": round(size, 1)} for name, size in sizes.items()],
        "simulated": [_flat(count) for count in sorted(counts, key=_order)],
        "hops": [
            {"how": how, "brokers": brokers, "hops": hops, "lookups": lookups}
            for how, brokers, found in (
                *(("modelled", model.brokers, model.hops) for model in models),
                *((count.how, count.brokers, count.hops) for count in sorted(counts, key=_order)),
            )
            for hops, lookups in found.items()
        ],
    }
    return Evaluation(
        "internet",
        TITLE,
        extent.command("internet"),
        {"seed": extent.seed, "quick": extent.quick, "calm": CALM, "usual": USUAL, "sizes_of": joined.brokers},
        conclusions(tables),
        tables,
        figures(tables),
        text(tables),
    )


def _order(count: RingCount) -> tuple[float, int]:
    return -count.heartbeat, count.brokers


def _flat(count: RingCount) -> dict[str, Any]:
    """One line per ring."""
    row = {name: value for name, value in msgspec.structs.asdict(count).items() if not isinstance(value, dict)}
    row |= {"hops_mean": round(count.hops_mean, 4), "hops_max": max(count.hops)}
    return row | {"frames": sum(count.frames.values()), "bytes": sum(count.bytes.values())}


# Comparing ----------------------------------------------------------------------------------------------------------
def mean_of(models: Sequence[ModelledRing], name: str) -> float:
    """Over seeds."""
    found: float = sum(getattr(model, name) for model in models) / len(models)
    return found


def modelled(models: Sequence[ModelledRing]) -> ModelledRing:
    """The mean ring of several seeds."""
    names = ("table", "known", "row_told", "strangers", "asked_is_leaf", "entries_elsewhere")
    hops: dict[int, int] = {}
    for model in models:
        for number, count in model.hops.items():
            hops[number] = hops.get(number, 0) + count
    return ModelledRing(models[0].brokers, hops, *(mean_of(models, name) for name in names))


def agreement(count: RingCount, models: Sequence[ModelledRing]) -> list[dict[str, Any]]:
    """One ring of brokers beside the same size in the model."""
    ring = modelled(models)
    pairs: list[tuple[str, float, float]] = [
        ("hops", count.hops_mean, ring.hops_mean),
        ("table entries", count.table, ring.table),
    ]
    if count.frames:
        age = SETTLED / SECOND + count.watched / 2 if count.how == KNOWN else math.inf
        upkeep = upkeep_of(ring, count.heartbeat, count.silence, age)
        sizes = sizes_of(count)
        pairs += [
            ("links open", count.links, upkeep.links),
            ("ring, frames/s", rate(count, RING), frames_of(upkeep, RING)),
            ("signs of life, frames/s", rate(count, LIFE), frames_of(upkeep, LIFE)),
            ("all, bytes/s", _bytes_rate(count), bytes_of(upkeep, sizes)),
        ]
    return [
        {
            "how": count.how,
            "brokers": count.brokers,
            "heartbeat": count.heartbeat,
            "what": what,
            "simulated": round(simulated, 4),
            "modelled": round(said, 4),
            "difference": round(said / simulated - 1, 4),
            "tolerance": TOLERANCES[what],
        }
        for what, simulated, said in pairs
    ]


def rate(count: RingCount, names: Sequence[str]) -> float:
    """Frames per second and broker that were sent."""
    frames = sum(count.frames.get(kind, 0) for name in names for kind in FRAMES[name])
    return frames / count.watched / count.brokers


def _bytes_rate(count: RingCount) -> float:
    kinds = [kind for name in (*RING, *LIFE) for kind in FRAMES[name]]
    return sum(count.bytes.get(kind, 0) for kind in kinds) / count.watched / count.brokers


def frames_of(upkeep: RingUpkeep, names: Sequence[str]) -> float:
    """Frames per second and broker that the model says, answers among them."""
    found: float = sum(getattr(upkeep, name) * (2 if name in ANSWERED else 1) for name in names)
    return found


def sizes_of(count: RingCount) -> dict[str, float]:
    """Bytes of a frame of each sort, as it was counted; answers are counted with what they answer."""
    found = {}
    for name, kinds in FRAMES.items():
        frames = sum(count.frames.get(kind, 0) for kind in kinds)
        found[name] = sum(count.bytes.get(kind, 0) for kind in kinds) / max(frames, 1)
    return found


def bytes_of(upkeep: RingUpkeep, sizes: Mapping[str, float]) -> float:
    """Bytes per second and broker."""
    return sum(frames_of(upkeep, (name,)) * size for name, size in sizes.items())


def ring_row(models: Sequence[ModelledRing], sizes: Mapping[str, float], told: float) -> dict[str, Any]:
    """One size of ring, as the model has it; rows of routing tables are longer in larger rings."""
    ring = modelled(models)
    hops, width = another([model.hops_mean for model in models])
    usual, calm = upkeep_of(ring, *USUAL), upkeep_of(ring, *CALM)
    longer = {**sizes, "row_replies": sizes["row_replies"] * ring.row_told / told}
    return {
        "brokers": ring.brokers,
        "seeds": len(models),
        "hops": round(hops, 4),
        "plus_minus": round(width, 4),
        "hops_max": max(ring.hops),
        "log16": round(math.log(ring.brokers, 16), 3),
        "table": round(ring.table, 2),
        "known": round(ring.known, 2),
        "links": round(usual.links, 2),
        "ring_frames": round(frames_of(usual, RING), 4),
        "life_frames": round(frames_of(usual, LIFE), 3),
        "bytes": round(bytes_of(usual, longer), 1),
        "calm_frames": round(frames_of(calm, (*RING, *LIFE)), 4),
        "calm_bytes": round(bytes_of(calm, longer), 1),
    }


# Figures ------------------------------------------------------------------------------------------------------------
SEEN: Final = {
    JOINED: "real brokers that joined",
    KNOWN: "real links and tables, told whom to know",
    TABLES: "real tables alone, filled",
}
"""What was counted, and what it is called; each has a style of its own."""


def figures(tables: dict[str, list[dict[str, Any]]]) -> tuple[Figure, ...]:
    """All figures of the report."""
    rings, simulated = tables["rings"], tables["agreement"]
    brokers = tuple(row["brokers"] for row in rings)

    def curve(name: str) -> Curve:
        return Curve("modelled", brokers, tuple(row[name] for row in rings), marked=False)

    def seen(what: str) -> tuple[Curve, ...]:
        found = []
        for style, (how, label) in enumerate(SEEN.items(), 1):
            rows = [row for row in simulated if (row["what"], row["how"]) == (what, how)]
            xs, ys = tuple(row["brokers"] for row in rows), tuple(row["simulated"] for row in rows)
            found += [Curve(label, xs, ys, style=style, hollow=True, joined=False)] if rows else []
        return tuple(found)

    logarithm = Curve("log", brokers, tuple(row["log16"] for row in rings), formula="log16 N")
    most = Curve("most", brokers, tuple(15 * row["log16"] for row in rings), formula="15 log16 N")
    size = "brokers N"
    return (
        Figure(
            "hops",
            "Lookups: hops between brokers",
            size,
            "hops, mean",
            (curve("hops"), *seen("hops"), logarithm),
            y_scale="linear",
        ),
        Figure(
            "tables",
            "Routing tables: entries of one broker",
            size,
            "entries, mean",
            (curve("table"), *seen("table entries"), most),
            y_scale="linear",
        ),
        Figure(
            "upkeep",
            "Upkeep of a quiet ring",
            size,
            "frames sent by each broker, 1/s",
            tuple(_upkeep_curves(rings, simulated)),
        ),
    )


def _upkeep_curves(rings: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]) -> list[Curve]:
    """For both heartbeats the model of an old ring, and what was counted: rings that joined, and such as just began."""
    brokers = tuple(row["brokers"] for row in rings)
    modelled = {
        USUAL[0]: tuple(row["ring_frames"] + row["life_frames"] for row in rings),
        CALM[0]: tuple(row["calm_frames"] for row in rings),
    }
    found = []
    for style, (heartbeat, frames) in enumerate(modelled.items()):
        found.append(Curve(f"modelled, heartbeat {heartbeat:g} s", brokers, frames, style=style, marked=False))
    for style, how in ((2, JOINED), (3, KNOWN)):
        sums: dict[tuple[float, int], float] = {}
        for row in rows:
            if row["how"] == how and row["what"].endswith("frames/s"):
                key = (row["heartbeat"], row["brokers"])
                sums[key] = sums.get(key, 0.0) + row["simulated"]
        xs = tuple(size for _heartbeat, size in sums)
        label = "counted, brokers that joined" if how == JOINED else "counted, links and tables that just began"
        found.append(Curve(label, xs, tuple(sums.values()), style=style, hollow=True, joined=False))
    return found
