"""Fixtures of more than one folder."""

from tests.disks import data, stores

__all__ = ["data", "stores"]
