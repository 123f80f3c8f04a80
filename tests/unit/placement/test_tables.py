"""Descriptions in JSON and CSV say the same; mistakes are named with their place."""

from __future__ import annotations

import pytest

from causeway.errors import ConfigError
from causeway.placement.tables import read_description

JSON = """{"brokers": {"b1": 70, "b2": 75}, "topics": ["x", "y", "z"], "items": {"one": ["x", "y"], "two": ["z"]},
 "samples": [[1, 2, 3], [4, 4, 4], [2, 9, 1]], "present": {"one": ["b1", "b2"], "two": ["b2"]}}"""
CSV = """# comments and empty lines are left out
broker,b1,70
broker,b2,75

topics,x,y,z
sample,1,2,3
sample,4,4,4
sample,2,9,1
item,one,x,y
item,two,z
present,one,b1,b2
present,two,b2
"""


def test_items_with_rates_of_their_own_need_no_topics() -> None:
    rates = '"brokers": {"b": 9}, "samples": [[1, 2], [3, 4]], "present": {"one": ["b"]}}'
    named, grouped = (
        read_description('{"items": ["one", "two"], ' + rates),
        read_description('{"topics": ["one", "two"], ' + rates),
    )
    assert named.model.items == grouped.model.items
    assert named.model.means.tolist() == grouped.model.means.tolist()
    assert named.present == grouped.present


def test_json_and_csv_say_the_same() -> None:
    first, second = read_description(JSON), read_description(CSV)
    for found in (first, second):
        assert [(one.name, one.capacity) for one in found.brokers] == [("b1", 70.0), ("b2", 75.0)]
        assert found.model.topics == {"one": ("x", "y"), "two": ("z",)}
        assert found.present is not None
        assert found.present.owners == {"one": "b1", "two": "b2"}
        assert found.present.mirrors == {"one": "b2"}
    assert first.model.covariance.tolist() == second.model.covariance.tolist()


def test_means_and_covariance_may_stand_for_samples() -> None:
    text = "broker,b,9\ntopics,x,y\nmeans,1,2\ncovariance,1,0\ncovariance,0,4\n"
    found = read_description(text)
    assert found.model.covariance.tolist() == [[1.0, 0.0], [0.0, 4.0]]
    assert found.present is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "brokers: there are none"),
        ("broker,b,9", "topics: there are none"),
        ("broker,b,nine", "line 1='nine': must be a number"),
        ("broker,b,9\nbroker,b,9", "line 2='b,9': must be broker,NAME,CAPACITY"),
        ("brokre,b,9", "line 1='brokre': must begin with one of"),
        ("broker", "line 1='broker': has nothing after it"),
        ("broker,b,9\ntopics,x", "either samples, or means and covariance"),
        ("broker,b,9\ntopics,x\nmeans,1", "covariance='': is missing"),
        ("broker,b,9\ntopics,x\nmeans,1\ncovariance,1\nsample,1", "either samples"),
        ("broker,b,9\ntopics,x,y\nsample,1\nsample,1,2", "samples="),
        ("item,a", "must be item,NAME and something"),
        ('{"brokers": {"b": "x"}}', "is not a description"),
        ('{"capacity": 1}', "is not a description"),
        ("[1]", "is not a description"),
        ('{"brokers": {"b": 9}, "topics": ["x"], "items": ["x"]}', "give item -> topics, or no topics"),
        ('{"brokers": {"b": 9}, "topics": ["x"], "samples": [[1], [2]], "present": {"x": []}}', "present, x=[]"),
    ],
)
def test_mistakes_are_named(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_description(text)
    assert said in str(caught.value)
