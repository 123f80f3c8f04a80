"""Bounds of a session's settings."""

from __future__ import annotations

import pytest

from causeway.client.settings import SessionConfig
from causeway.errors import ConfigError
from causeway.types import SECOND


@pytest.mark.parametrize(
    ("field", "settings"),
    [
        ("name", {"name": ""}),
        ("name", {"name": "shop~0000000000000001"}),
        ("addresses", {"addresses": ()}),
        ("window_messages", {"window_messages": 0}),
        ("window_bytes", {"window_bytes": 0}),
        ("timeout", {"timeout": 0}),
        ("life", {"life": -1}),
        ("life", {"life": 1 << 53}),
        ("life", {"life": 7, "keep": True}),
        ("silence", {"silence": 1 * SECOND}),
        ("locate_every", {"locate_every": 0}),
        ("move_pause", {"move_pause": 0}),
    ],
)
def test_bad_settings_are_refused_by_name(field: str, settings: dict[str, object]) -> None:
    config = SessionConfig(**{"name": "shop", "addresses": (("b1", 1),), **settings})  # type: ignore[arg-type]
    with pytest.raises(ConfigError) as caught:
        config.check()
    assert caught.value.field == field


def test_defaults_are_good() -> None:
    assert SessionConfig(name="shop", addresses=(("b1", 1),)).check().timeout == 30 * SECOND
