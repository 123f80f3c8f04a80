"""What applications pass in."""

from __future__ import annotations

import math

import pytest

from causeway.client.arguments import code_of, duration_of, service_of
from causeway.errors import Code, ConfigError
from causeway.types import SECOND, ServiceClass


def test_seconds_become_nanoseconds() -> None:
    assert duration_of("ttl", 1) == SECOND
    assert duration_of("ttl", 0.25) == SECOND // 4
    assert duration_of("ttl", 1e-12) == 1


@pytest.mark.parametrize("seconds", [0, -1, -0.5, math.inf, math.nan, True, "1", None, 1e300])
def test_bad_seconds_are_refused_by_name(seconds: object) -> None:
    with pytest.raises(ConfigError) as caught:
        duration_of("ttl", seconds)
    assert caught.value.field == "ttl"


def test_service_classes_have_names() -> None:
    assert [service_of(name) for name in ("express", "recoverable", "transactional")] == [
        ServiceClass.EXPRESS,
        ServiceClass.RECOVERABLE,
        ServiceClass.TRANSACTIONAL,
    ]


@pytest.mark.parametrize("name", ["", "Express", "committed", 1, None, ["express"]])
def test_unknown_service_is_refused_with_the_known_ones(name: object) -> None:
    with pytest.raises(ConfigError, match="express, recoverable, transactional") as caught:
        service_of(name)
    assert caught.value.field == "service"


def test_codes_of_a_later_release_are_read_as_something_known() -> None:
    assert code_of(4, Code.UNAVAILABLE) is Code.NO_QUORUM
    assert code_of(9999, Code.UNAVAILABLE) is Code.UNAVAILABLE
