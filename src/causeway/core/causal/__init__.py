"""Causal order: clocks, seats, and the map of domains (ADR 0010)."""
