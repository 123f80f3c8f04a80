"""The ring of brokers (Pastry)."""

from causeway.core.overlay.overlay import Overlay, OverlayStatistics

__all__ = ["Overlay", "OverlayStatistics"]
