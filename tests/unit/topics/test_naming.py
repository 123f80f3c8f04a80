"""Both forms of a name, templates between them, and the guide's own tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from causeway.errors import ConfigError, TopicError
from causeway.topics.index import TopicIndex
from causeway.topics.limits import TOPIC_TEMPLATES_MAX
from causeway.topics.naming import Naming, TopicForm, parse_pattern, parse_topic
from causeway.topics.paths import check_pattern_path

GUIDE = (Path(__file__).parents[3] / "docs" / "topics.md").read_text()
REFUSALS = re.findall(r"^\| `([^`]+)` \| ((topic|pattern|template): column .*) \|$", GUIDE, re.MULTILINE)
MATCHES = re.findall(r"^\| `([^`]*[*#][^`]*)` \| (?!pattern:|topic:)(.*) \| ?(.*) ?\|$", GUIDE, re.MULTILINE)
ROADS = Naming(["roads/{road}/{kind}", "weather/{station}"])


@pytest.mark.parametrize(("text", "message", "field"), REFUSALS, ids=[row[0] for row in REFUSALS])
def test_what_the_guide_calls_wrong_is_refused_in_its_words(text: str, message: str, field: str) -> None:
    parse = {"topic": parse_topic, "pattern": parse_pattern, "template": lambda given: Naming([given]).templates}[field]
    with pytest.raises(TopicError) as caught:
        parse(text)
    assert str(caught.value) == message
    assert caught.value.field == field
    assert caught.value.value == text


@pytest.mark.parametrize(("pattern", "wanted", "unwanted"), MATCHES, ids=[row[0] for row in MATCHES])
def test_patterns_of_the_guide_match_what_it_says(pattern: str, wanted: str, unwanted: str) -> None:
    index = TopicIndex()
    index.add(parse_pattern(pattern), "")
    for topics, expected in ((wanted, True), (unwanted, False)):
        for topic in re.findall("`([^`]+)`", topics):
            assert index.wants(parse_topic(topic)) is expected, topic


def test_the_guide_has_tables_to_test() -> None:
    assert len(REFUSALS) >= 20
    assert len(MATCHES) == 5


def test_the_guide_s_examples_run() -> None:
    names: dict[str, object] = {}
    about_names = GUIDE.split("## Publish and subscribe")[0]  # the rest needs brokers: tests/integration/test_guides.py
    blocks = re.findall(r"```python\n(.*?)```", about_names, re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "docs/topics.md", "exec"), names)


def test_tags_without_a_template_are_levels_in_the_order_of_the_tags() -> None:
    assert parse_topic(" road = a1,kind=speed ") == "kind=speed/road=a1" == parse_topic("kind=speed, road=a1")


def test_a_path_with_equals_signs_is_a_path() -> None:
    assert parse_topic("kind=speed/road=a1") == "kind=speed/road=a1"
    assert parse_topic("calc/x=1,y=2") == "calc/x=1,y=2"
    assert parse_topic("~app=1:00ff/1") == "~app=1:00ff/1"


def test_form_says_how_a_text_was_written() -> None:
    assert ROADS.form("road=*, #") is TopicForm.TAGS
    assert ROADS.form("road=a1") is TopicForm.TAGS
    assert ROADS.form("roads/*/speed") is TopicForm.PATH
    assert ROADS.form("#") is TopicForm.PATH


def test_a_topic_is_shown_in_the_form_of_the_reader_if_it_has_it() -> None:
    assert ROADS.shown("roads/a1/speed", TopicForm.TAGS) == "road=a1, kind=speed"
    assert ROADS.shown("roads/a1/speed", TopicForm.PATH) == "roads/a1/speed"
    assert ROADS.shown("rails/7", TopicForm.TAGS) == "rails/7"


@pytest.mark.parametrize(
    ("path", "tags"),
    [
        ("roads/a1/speed", "road=a1, kind=speed"),
        ("weather/é", "station=é"),
        ("roads/a1", None),
        ("roads/a=1/speed", None),
        ("roads/a,1/speed", None),
        ("kind=speed/lane=2", "kind=speed, lane=2"),
        ("lane=2/kind=speed", None),
        ("lane=2/lane=3", None),
        ("kind=speed/road=a1", None),
        ("lane=", None),
        ("lane= 2", None),
        ("lane=2/x", None),
        ("lane=+", None),
    ],
)
def test_only_what_leads_back_to_a_path_is_its_tags(path: str, tags: str | None) -> None:
    assert ROADS.tags(path) == tags
    if tags is not None:
        assert ROADS.path(tags) == path


def test_a_value_at_the_beginning_is_never_a_temporary_topic() -> None:
    naming = Naming(["{site}/{kind}"])
    assert naming.tags("~app:00ff/1") is None
    with pytest.raises(TopicError, match="column 6: found '~'"):
        naming.path("site=~app, kind=1")


def test_closed_tag_patterns_follow_their_template_or_the_order_of_tags() -> None:
    assert parse_pattern("kind=speed, road=*", ROADS) == "roads/*/speed"
    assert parse_pattern("road=*, kind=speed") == "kind=speed/road=*"


def test_open_tag_patterns_mean_the_one_template_with_these_tags() -> None:
    assert parse_pattern("kind=speed, #", ROADS) == "roads/*/speed"
    assert parse_pattern("lane=2, #", ROADS) == "#/lane=2/#"
    both = Naming(["roads/{road}/{kind}", "lanes/{road}/{lane}"])
    with pytest.raises(TopicError, match=r"column 9: found '#', expected all tags: .*roads.* or .*lanes"):
        parse_pattern("road=*, #", both)


@pytest.mark.parametrize(
    ("templates", "remedy"),
    [
        (["a/{x}", "b/{x}"], "has the same tags as 'a/{x}'"),
        (["a/{x}/{y}", "b/{y}/{x}"], "has the same tags"),
        (["a/{x}/c", "a/b/{y}"], "has paths that 'a/{x}/c' has as well"),
        (["{x}/{y}", "a/{z}"], "has paths that"),
    ],
)
def test_templates_that_leave_a_doubt_are_refused(templates: list[str], remedy: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(remedy)):
        Naming(templates)


def test_templates_are_a_list_and_bounded() -> None:
    with pytest.raises(ConfigError, match="give a list"):
        Naming("roads/{road}")
    with pytest.raises(ConfigError, match="at most 256"):
        Naming(f"t{number}/{{x{number}}}" for number in range(TOPIC_TEMPLATES_MAX + 1))


@pytest.mark.parametrize("template", ["a/{x", "a/x}", "a/{{x}}", "a/{}", "a//{x}", "*/{x}", "/{x}", ""])
def test_a_template_is_levels_and_tags_in_braces(template: str) -> None:
    with pytest.raises(TopicError, match="template: column"):
        Naming([template])


def test_tags_whose_path_is_too_long_are_refused() -> None:
    with pytest.raises(TopicError, match="tags whose path has 256 bytes, expected at most 255"):
        parse_topic(f"road={'x' * 251}")
    assert len(parse_topic(f"road={'x' * 250}")) == 255


def test_the_widest_open_pattern_is_sound() -> None:
    written = ", ".join(f"tag{number:02d}={'x' * 9}" for number in range(16))
    assert check_pattern_path("pattern", parse_pattern(f"{written}, #")).count("/") == 32
