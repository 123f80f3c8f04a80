"""Which names belong together, from pairs of them: connected components of a graph of any size, as data frames.

Small graphs are connected by one task. Larger ones in rounds of two steps over all pairs, in which each name comes to
hang on the least name that it knows of (large star and small star; Kiveris and others, SOCC 2014). As many rounds are
needed as the logarithm of the longest way, about; in each a task sees its part of the pairs.

Owns: that. Must not know: what the names are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROUNDS_MAX: Final = 100
"""More than any graph needs that fits on disks; ways of 2^100 names do not."""


def components(pairs: DataFrame) -> DataFrame:
    """`name` and `least` of all names in `left` and `right`: the least of those that it is connected with."""
    edges = pairs.where("left != right").select(
        F.greatest("left", "right").alias("u"), F.least("left", "right").alias("v")
    )
    edges, before = edges.distinct().localCheckpoint(), None
    for _ in range(ROUNDS_MAX):
        now = _digest(edges)
        if now == before:
            break
        edges, before = small_star(large_star(edges)).localCheckpoint(), now
    hanging = edges.select(F.col("u").alias("name"), F.col("v").alias("least"))
    alone = pairs.selectExpr("explode(array(left, right)) AS name").distinct()
    return alone.join(hanging, "name", "left").select("name", F.coalesce("least", "name").alias("least"))


def large_star(edges: DataFrame) -> DataFrame:
    """Whoever is greater than a name hangs on the least neighbour of that."""
    both = edges.unionByName(edges.select(F.col("v").alias("u"), F.col("u").alias("v")))
    least = both.groupBy("u").agg(F.least(F.min("v"), F.first("u")).alias("m"))
    greater = both.where("v > u").join(least, "u")
    return greater.select(F.col("v").alias("u"), F.col("m").alias("v")).distinct()


def small_star(edges: DataFrame) -> DataFrame:
    """A name, and whoever is less and its neighbour, hang on the least of these."""
    least = edges.groupBy("u").agg(F.min("v").alias("m"))
    lesser = edges.join(least, "u").where("v != m").select(F.col("v").alias("u"), F.col("m").alias("v"))
    return lesser.unionByName(least.select("u", F.col("m").alias("v"))).distinct()


def _digest(edges: DataFrame) -> tuple[int, int]:
    """Tells one set of edges from another."""
    (row,) = edges.agg(F.count("*").alias("count"), F.bit_xor(F.xxhash64("u", "v")).alias("hash")).collect()
    return int(row["count"]), int(row["hash"] or 0)
