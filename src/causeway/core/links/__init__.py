"""Connections of a broker to other brokers and to clients."""

from causeway.core.links.links import Links, LinksStatistics

__all__ = ["Links", "LinksStatistics"]
