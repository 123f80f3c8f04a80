"""The experiments there are, and how one or all of them are run.

Owns: their names. Must not know: what any of them measures, how progress is shown.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Final

from causeway.evaluate.evaluation import Evaluation, Extent

EXPERIMENTS: Final = {
    "aaa": "what causal order costs against the number of servers (AAA, section 6)",
    "gemom": "what placement by risk gains over round robin, and mirrors after failures (GEMOM, section IV)",
    "pbm": "delay and traffic of messages over a ring of brokers and over MSMQ (PBM, section 4)",
    "qpidr": "what monitoring and recovering brokers costs, and how long it takes (OIGY/QpidR, section 5)",
    "internet": "hops, tables and upkeep of rings of up to a million brokers, by a model that is checked first",
}
"""Each is the module of its name in `causeway.evaluate`, with a function `evaluate`."""

ALL: Final = "all"

Tick = Callable[[int, int], None]


def run_experiment(name: str, extent: Extent, tick: Tick) -> Evaluation:
    """One experiment; `tick` hears how much of its work is done, and how much there is."""
    evaluate: Callable[[Extent, Tick], Evaluation] = importlib.import_module(f"causeway.evaluate.{name}").evaluate
    return evaluate(extent, tick)
