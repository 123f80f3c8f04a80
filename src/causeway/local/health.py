"""What the reports of several brokers say about their cluster as a whole. Pure.

Owns: when a cluster may lose a broker again, and what would be lost with one that leaves. A group is what its latest
epoch says; whoever was fenced may still report an earlier one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from causeway.core.groups.registry import ROOT_NAME


def settled(reports: Mapping[str, Mapping[str, Any]], brokers: int, root_copies: int, *, spares: int = 0) -> bool:
    """Whether all brokers have joined and the directory lies on as many as it ever will: any one may now die.

    `spares`, counted among the brokers, hold nothing while they have no seat.
    """
    if len(reports) < brokers or not all(report.get("active") for report in reports.values()):
        return False
    root = latest_groups(reports.values()).get(ROOT_NAME)
    if root is None or root.get("incomplete"):
        return False
    return len(root.get("members", [])) >= min(brokers - spares, root_copies)


def without_seats(domains: Mapping[str, Sequence[str]], reports: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Brokers that are not, or not everywhere, in the domains they were started with; by name, why not if they know."""
    missing: dict[str, str] = {}
    for name, wanted in domains.items():
        causal = reports.get(name, {}).get("causal", {})
        if causal.get("refusal"):
            missing[name] = str(causal["refusal"])
        elif any(name not in causal.get("domains", {}).get(domain, ()) for domain in wanted):
            missing[name] = ""
    return missing


def not_handed_over(name: str, before: Mapping[str, Any], reports: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Groups that still count on a broker that has left, that it alone held and nobody else knows, or that it held and
    whose copies are still being filled: with one more broker less they might have nobody who has everything.

    `before` is its own last report, `reports` are those of the brokers that stay.
    """
    groups = latest_groups(report for other, report in reports.items() if other != name)
    counted_on = {group for group, said in groups.items() if name in said.get("members", [])}
    held = {group: said for group, said in latest_groups([before]).items() if name in said.get("members", [])}
    alone = {group for group, said in held.items() if said.get("members", []) == [name]}
    filling = {group for group in held.keys() & groups.keys() if groups[group].get("incomplete")}
    return sorted(counted_on | (alone - groups.keys()) | filling)


def latest_groups(reports: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Every replica group as its latest epoch has it, by name; from its owner's report, if that one serves it."""
    latest: dict[str, Mapping[str, Any]] = {}
    for report in reports:
        for group in report.get("groups", []):
            known = latest.get(str(group.get("name")))
            if known is None or _standing(group) > _standing(known):
                latest[str(group.get("name"))] = group
    return latest


def _standing(group: Mapping[str, Any]) -> tuple[int, bool]:
    """A copy may report the group too, or a fenced owner its last epoch: the latest serving word counts."""
    return int(group.get("epoch", 0)), bool(group.get("serving"))
