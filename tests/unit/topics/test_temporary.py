"""Names of temporary topics are sound, whatever the application is called."""

from __future__ import annotations

import pytest

from causeway.topics.naming import PLAIN, TopicForm, parse_topic
from causeway.topics.temporary import is_temporary, temporary_prefix, temporary_topic


def test_a_temporary_topic_tells_whose_it_is() -> None:
    assert temporary_topic("shop", 255, 1) == "~shop:00000000000000ff/1"
    assert temporary_prefix("shop", 255) == "~shop:00000000000000ff"


@pytest.mark.parametrize("application", ["a/b", "*", "a#b", " a ", "x=1, y=2", "é" * 127, "\U0001f600" * 63])
def test_it_is_a_topic_whatever_the_application_is_called(application: str) -> None:
    topic = temporary_topic(application, (1 << 64) - 1, (1 << 63) - 1)
    assert parse_topic(topic) == topic
    assert topic.count("/") == 1
    assert PLAIN.form(topic) is TopicForm.PATH
    assert is_temporary(topic)


def test_other_topics_are_not_temporary() -> None:
    assert not any(is_temporary(path) for path in ("a", "#", "*/1"))
