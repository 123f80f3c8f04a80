"""Topics against the obvious: an index against a loop over regular expressions, summaries that never miss, names that
come back."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.errors import TopicError
from causeway.topics import (
    Naming,
    TopicForm,
    TopicIndex,
    check_pattern_path,
    check_topic_path,
    covers,
    item_of,
    items_of,
    parse_pattern,
    parse_topic,
    summarise,
)

LEVELS = ("a", "b", "k=1", "k=2", "t=1")
WILD = ("*", "k=*", "t=*")
TOPICS = st.lists(st.sampled_from(LEVELS), min_size=1, max_size=4).map("/".join)
PATTERNS = st.lists(st.sampled_from((*LEVELS, *WILD, "#")), min_size=1, max_size=5).map("/".join)
"""MANY anywhere, also twice."""
WRITTEN = st.builds(
    lambda levels, many: "/".join((*levels, "#") if many or not levels else levels),
    st.lists(st.sampled_from((*LEVELS, *WILD)), max_size=4),
    st.booleans(),
)
"""MANY at the end only."""
ENTRIES = st.sampled_from(("x", "y", "z"))


def matches(pattern: str, topic: str) -> bool:
    """The obvious: each level as a regular expression that ends with a slash."""
    parts = {"*": "[^/]+/", "#": "(?:[^/]+/)*"}
    levels = pattern.split("/")
    whole = "".join(
        parts.get(level) or (re.escape(level[:-1]) + "[^/]*/" if level.endswith("=*") else re.escape(level) + "/")
        for level in levels
    )
    return re.fullmatch(whole, f"{topic}/") is not None


@settings(max_examples=300, deadline=None)
@given(
    steps=st.lists(st.tuples(st.booleans(), PATTERNS, ENTRIES), max_size=30),
    topics=st.lists(TOPICS, min_size=1, max_size=5),
)
def test_index_agrees_with_a_loop_over_all_patterns(steps: list[tuple[bool, str, str]], topics: list[str]) -> None:
    index = TopicIndex()
    held: dict[tuple[str, str], None] = {}
    for adds, pattern, entry in steps:
        known = (pattern, entry) in held
        if adds:
            assert index.add(pattern, entry) is not known
            held[pattern, entry] = None
        else:
            assert index.remove(pattern, entry) is known
            held.pop((pattern, entry), None)
    assert len(index) == len(held)
    assert index.patterns() == sorted({pattern for pattern, _ in held})
    for topic in topics:
        found = index.match(topic)
        assert sorted(found) == sorted({entry for pattern, entry in held if matches(pattern, topic)})
        assert index.wants(topic) is bool(found)


@given(st.lists(st.tuples(PATTERNS, ENTRIES), max_size=20))
def test_an_index_that_was_emptied_is_as_new(added: list[tuple[str, str]]) -> None:
    index = TopicIndex()
    for pattern, entry in added:
        index.add(pattern, entry)
    for pattern, entry in added:
        index.remove(pattern, entry)
    assert len(index) == 0
    assert index.patterns() == []
    assert index._root.is_bare()


@settings(max_examples=300, deadline=None)
@given(st.lists(PATTERNS, max_size=12), st.integers(1, 6), st.lists(TOPICS, min_size=1, max_size=6))
def test_a_summary_matches_whatever_one_of_its_patterns_matches(
    patterns: list[str], limit: int, topics: list[str]
) -> None:
    summary = summarise(patterns, limit)
    assert len(summary) <= limit
    assert list(summary) == sorted(summary)
    assert summary == summarise(reversed(patterns), limit)
    for pattern in summary:
        check_pattern_path("summary", pattern)
    for topic in topics:
        if any(matches(pattern, topic) for pattern in patterns):
            assert any(matches(pattern, topic) for pattern in summary)


@given(st.lists(WRITTEN, max_size=12))
def test_a_summary_with_room_says_exactly_what_was_given(patterns: list[str]) -> None:
    summary = summarise(patterns, 100)
    assert all(any(covers(given, pattern) for given in patterns) for pattern in summary)
    assert not any(covers(one, other) for one in summary for other in summary if one != other)


ALL_TOPICS = ["/".join(levels) for size in range(1, 4) for levels in itertools.product(LEVELS, repeat=size)]


@settings(max_examples=200, deadline=None)
@given(PATTERNS, PATTERNS)
def test_what_covers_matches_all_the_other_matches(general: str, special: str) -> None:
    if covers(general, special):
        assert all(matches(general, topic) for topic in ALL_TOPICS if matches(special, topic))


FRESH = ("a", "b", "k=1", "k=2", "k=fresh", "t=1", "t=fresh", "fresh")


@settings(max_examples=200, deadline=None)
@given(WRITTEN, WRITTEN)
def test_what_does_not_cover_misses_a_topic(general: str, special: str) -> None:
    """Exact for patterns as people write them: a topic with levels that nobody named tells them apart."""
    fresh = {"*": "fresh", "k=*": "k=fresh", "t=*": "t=fresh"}
    levels = [fresh.get(level, level) for level in special.split("/") if level != "#"]
    samples = [levels] if levels else []
    if special.endswith("#"):
        samples += [[*levels, *["fresh"] * more] for more in range(1, 7)]
    missed = any(not matches(general, "/".join(sample)) for sample in samples)
    assert covers(general, special) is not missed


@given(PATTERNS, TOPICS)
def test_a_topic_that_matches_is_in_one_of_the_pattern_s_items(pattern: str, topic: str) -> None:
    if matches(pattern, topic):
        assert item_of(topic) in items_of(pattern)


# Names ----------------------------------------------------------------------------------------------------------
VALUES = st.text(st.sampled_from("ab1é.-"), min_size=1, max_size=4)
TAGS = st.dictionaries(st.sampled_from(("road", "kind", "lane", "_x")), VALUES, min_size=1)
NAMINGS = st.sampled_from(
    (
        Naming(),
        Naming(["roads/{road}/{kind}"]),
        Naming(["{road}", "{kind}/{lane}"]),
        Naming(["roads/{road}/{kind}", "lanes/{lane}", "roads/{road}/{kind}/{lane}", "a/{_x}/b"]),
    )
)


def written(pairs: dict[str, str]) -> str:
    return " , ".join(f"{tag} = {value}" for tag, value in pairs.items())


@given(NAMINGS, TAGS)
def test_tags_come_back_from_their_path(naming: Naming, pairs: dict[str, str]) -> None:
    path = parse_topic(written(pairs), naming)
    assert check_topic_path("topic", path) == path
    tags = naming.tags(path)
    assert tags is not None
    assert dict(pair.split("=") for pair in tags.split(", ")) == pairs
    assert naming.path(tags) == path
    assert naming.shown(path, TopicForm.TAGS) == tags


@given(
    NAMINGS,
    st.lists(
        st.sampled_from(("roads", "a", "b", "lanes", "kind=x", "road=y", "road= y", "a,b", "é")), min_size=1, max_size=4
    ),
)
def test_a_path_comes_back_from_its_tags(naming: Naming, levels: list[str]) -> None:
    path = "/".join(levels)
    tags = naming.tags(path)
    if tags is not None:
        assert naming.form(tags) is TopicForm.TAGS
        assert naming.path(tags) == path


@given(TAGS, TAGS, st.booleans(), st.data())
def test_tag_patterns_match_as_tags_say(
    name: dict[str, str], wanted: dict[str, str], is_open: bool, data: st.DataObject
) -> None:
    pattern = {tag: data.draw(st.sampled_from((value, "*", name.get(tag, "*")))) for tag, value in wanted.items()}
    index = TopicIndex()
    index.add(parse_pattern(written(pattern) + (", #" if is_open else "")), "")
    found = index.wants(parse_topic(written(name)))
    agrees = all(tag in name and value in ("*", name[tag]) for tag, value in pattern.items())
    assert found is (agrees and (is_open or len(name) == len(pattern)))


@given(st.text(st.sampled_from("ab/=,*#~+>. {}\x00é\ud800"), max_size=12))
def test_any_text_is_a_topic_or_an_error_with_a_column(text: str) -> None:
    errors: list[TopicError] = []
    for parse in (parse_topic, parse_pattern, lambda given: Naming([given]).templates):
        try:
            parse(text)
        except TopicError as error:
            errors.append(error)
    for error in errors:
        assert 1 <= error.column <= len(text) + 1
        assert f"column {error.column}: found " in str(error)


@given(st.text(st.sampled_from("ab/=,*#~+>. \x00é"), max_size=12))
def test_what_is_parsed_passes_the_broker_s_checks(text: str) -> None:
    try:
        pattern = parse_pattern(text)
    except TopicError:
        with pytest.raises(TopicError):
            parse_topic(text)
        return
    assert check_pattern_path("pattern", pattern) == pattern
    if not any(mark in pattern for mark in "*#"):
        assert check_topic_path("topic", parse_topic(text)) == pattern
