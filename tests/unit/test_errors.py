"""What errors say of the field that is wrong."""

from __future__ import annotations

import pytest

from causeway.errors import ConfigError


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "topics: give both"),
        ("", "topics='': give both"),
        (0, "topics=0: give both"),
        ("x" * 100, f"topics='{'x' * 35}...{'x' * 39}': give both"),
    ],
)
def test_value_is_shown_if_there_is_one(value: object, said: str) -> None:
    assert str(ConfigError("topics", value, "give both")) == said
