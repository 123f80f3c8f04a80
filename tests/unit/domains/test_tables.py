"""Tables of traffic and of seats: what is read, and where the first mistake is."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.domains.tables import read_seats, read_traffic, seats_of, written_seats
from causeway.errors import ConfigError

CSV = 'from, to, rate\nweb, orders, 12.5\n\n"a, b", web, 3\n'


def test_csv_is_read_with_spaces_quotes_and_empty_lines() -> None:
    table = read_traffic(CSV)
    assert table.rates == (("web", "orders", 12.5), ("a, b", "web", 3.0))
    assert table.units == ("web", "orders", "a, b")
    assert not table.seated


@pytest.mark.parametrize(
    "text",
    [
        '[{"from": "a", "to": "b", "rate": 2}, {"rate": "0.5", "to": "a", "from": "c"}]',
        '{"from": "a", "to": "b", "rate": 2}\n\n{"rate": "0.5", "to": "a", "from": "c"}\n',
        "rate,to,from\n2,b,a\n.5,a,c",
    ],
    ids=["array", "lines", "columns in another order"],
)
def test_same_table_in_every_form(text: str) -> None:
    assert read_traffic(text).rates == (("a", "b", 2.0), ("c", "a", 0.5))


def test_applications_count_for_their_seats() -> None:
    text = "from,to,rate,from_seat,to_seat\nweb,orders,1,b1,b2\norders,web,2,,\nweb,stock,3,b1,b1\n"
    table = read_traffic(text)
    assert table.seated
    assert table.rates == (("b1", "b2", 1.0), ("b2", "b1", 2.0), ("b1", "b1", 3.0))
    assert table.units == ("b1", "b2")


@pytest.mark.parametrize(
    ("text", "field", "value", "said"),
    [
        ("", "line 1, column", "from", "is missing"),
        ("from,to,rate\n", "table", "", "has no rows"),
        ("[]", "table", "", "has no rows"),
        ("from,to\na,b", "line 1, column", "rate", "is missing"),
        ("from,to,rate,colour\na,b,1,red", "line 1, column", "colour", "columns are from, to, rate"),
        ("from,to,rate,to\na,b,1,c", "line 1, column", "to", "twice"),
        ("from,to,rate\na,b,1\na,b", "line 3", "a,b", "has 2 columns"),
        ("from,to,rate\na,b,many", "line 2, rate", "many", "messages per second"),
        ("from,to,rate\na,b,-1", "line 2, rate", "-1", "0 or more"),
        ("from,to,rate\na,b,nan", "line 2, rate", "nan", "a number"),
        ("from,to,rate\na,b,inf", "line 2, rate", "inf", "a number"),
        ("from,to,rate\n,b,1", "line 2, from", "", "must not be empty"),
        ('from,to,rate\n"a,b,1', "line 2", "a,b,1", "has 1 columns"),
        ("from,to,rate\na,b,1\n" + "x" * 300 + ",b,1", "line 3, from", "x" * 300, "at most 255"),
        ("from,to,rate,from_seat,to_seat\na,b,1,s,", "line 2, to_seat", "", "b has no seat, others have"),
        ("from,to,rate,from_seat,to_seat\na,b,1,s,t\na,b,1,t,t", "line 3, from_seat", "t", "had the seat s before"),
        ('[{"from": "a", "to": "b", "rate": 1}, 7]', "row 2", 7, "must be an object"),
        ('[{"from": "a", "to": 3, "rate": 1}]', "row 1, to", 3, "must be a name"),
        ('[{"from": "a", "to": "b", "rate": true}]', "row 1, rate", True, "a number"),
        ('[{"from": "a", "to": "b", "rate": null}]', "row 1, rate", None, "a number"),
        ('{"from": "a", "to": "b", "rate": 1}\n{"from": ', "line 2", '{"from": ', "is not JSON"),
        ("[1, 2", "table", "[1, 2", "is not JSON"),
    ],
)
def test_mistake_is_named_with_its_place_and_remedy(text: str, field: str, value: object, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_traffic(text)
    assert (refused.value.field, refused.value.value) == (field, value)
    assert said in refused.value.remedy


@given(st.text(max_size=60))
def test_nonsense_is_refused_and_nothing_else(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert read_traffic(text).rates
    with contextlib.suppress(ConfigError):
        assert read_seats("present", text)


# Seats --------------------------------------------------------------------------------------------------------------
def test_seats_come_back_as_written() -> None:
    seats = {"b1": ("d1",), 'odd "name"': ("d1", "d2")}
    assert read_seats("present", written_seats(seats)) == seats


def test_seats_from_the_members_of_domains() -> None:
    assert seats_of({"north": ["a", "r"], "south": ["r"]}) == {"a": ("north",), "r": ("north", "south")}


@pytest.mark.parametrize(
    ("text", "field", "said"),
    [
        ("[]", "present", "JSON object"),
        ("{", "present", "JSON object"),
        ("{}", "present", "names nobody"),
        ('{"a": []}', "present, a", "one or more"),
        ('{"a": ["x", "x"]}', "present, a", "different"),
        ('{"a": ["x/y"]}', "present, a", "no '/'"),
        ('{"": ["x"]}', "present", "must not be empty"),
        ('{"a": "x"}', "present", "list of domains"),
    ],
)
def test_bad_seats_are_refused(text: str, field: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_seats("present", text)
    assert refused.value.field == field
    assert said in refused.value.remedy
