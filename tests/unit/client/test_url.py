"""The one setting of a client."""

from __future__ import annotations

import pytest

from causeway.client.url import PORT_DEFAULT, format_url, parse_url
from causeway.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "addresses"),
    [
        ("causeway://127.0.0.1:7401", (("127.0.0.1", 7401),)),
        ("causeway://broker", (("broker", PORT_DEFAULT),)),
        ("CAUSEWAY://broker:1/", (("broker", 1),)),
        ("causeway://a:1,b:2, c:3", (("a", 1), ("b", 2), ("c", 3))),
        ("causeway://a:1,a:1", (("a", 1),)),
        ("causeway://[::1]:9,[fe80::1]", (("::1", 9), ("fe80::1", PORT_DEFAULT))),
    ],
)
def test_url_names_every_broker_once(url: str, addresses: tuple[tuple[str, int], ...]) -> None:
    assert parse_url(url) == addresses


@pytest.mark.parametrize(
    "url",
    [
        "",
        "broker:7400",
        "http://broker:7400",
        "causeway://",
        "causeway://,",
        "causeway://:7400",
        "causeway://broker:",
        "causeway://broker:port",
        "causeway://broker:0",
        "causeway://broker:65536",
        "causeway://broker:" + "9" * 5000,
        "causeway://broker:７４００",
        "causeway://user@broker",
        "causeway://broker/path",
        "causeway://broker?x=1",
        "causeway://bro ker",
        "causeway://[::1",
        "causeway://[::1]7",
        None,
        7400,
    ],
)
def test_bad_url_is_refused_with_the_right_form(url: object) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_url(url)  # type: ignore[arg-type]
    assert caught.value.field == "url"
    assert "causeway://host:port" in str(caught.value)


def test_url_survives_a_round_trip() -> None:
    addresses = (("a", 1), ("::1", 2))
    assert parse_url(format_url(addresses)) == addresses


def test_url_with_two_schemes_or_of_another_type_is_refused_in_words() -> None:
    with pytest.raises(ConfigError, match="names the scheme more than once"):
        parse_url("causeway://a:1,causeway://b:2")
    with pytest.raises(ConfigError, match="must be str, not list"):
        parse_url(["causeway://a:1"])  # type: ignore[arg-type]
