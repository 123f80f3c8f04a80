"""Domains of brokers: whether they form a tree, and which way leads where.

    graph = DomainGraph({"a": ("north",), "r": ("north", "south"), "b": ("south",)})
    graph.next_hop("a", "b")        # ("north", "r")
    graph.cycle_with("b", ("north",))   # ["b", "north", "r", "south", "b"]

Pure: names in, names out. Knows nothing of clocks, messages or brokers.
"""

from causeway.domains.graph import DomainGraph, check_domain, described_cycle

__all__ = ["DomainGraph", "check_domain", "described_cycle"]
