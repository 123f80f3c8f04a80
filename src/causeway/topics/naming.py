"""What people write to canonical paths and back: the two forms of a name, and templates that join them.

Owns: templates. Must not know: who publishes or subscribes.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from typing import Final, final

from causeway.errors import ConfigError, TopicError
from causeway.topics.index import TopicIndex
from causeway.topics.limits import TOPIC_BYTES_MAX, TOPIC_TEMPLATES_MAX
from causeway.topics.paths import (
    MANY,
    ONE,
    PATTERN_BYTES_MAX,
    SEPARATOR,
    TAG,
    Use,
    check_path,
    check_topic_path,
    shown,
    size_of,
)
from causeway.topics.tags import TagText, is_tags, is_value, read_tags, write_tags

_PLACE: Final = re.compile(r"\{(.*)\}", re.DOTALL)
_TAG_LEVEL: Final = re.compile(rf"({TAG.pattern})=(.*)", re.DOTALL)


class TopicForm(enum.Enum):
    """How a name was written."""

    PATH = "path"
    """`roads/a1/speed`"""
    TAGS = "tags"
    """`road=a1, kind=speed`"""


@final
class _Template:
    """Literal levels, and places for the values of tags."""

    __slots__ = ("levels", "tags", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.levels: list[str] = []
        """Literal, or ONE where a value stands."""
        self.tags: dict[str, int] = {}
        """Each tag and the place of its value."""
        column = 1
        for place, level in enumerate(text.split(SEPARATOR)):
            self._read_level(place, level, column)
            column += len(level) + 1
        check_path("template", text, Use.TOPIC)
        if not self.tags:
            raise TopicError("template", text, 1, "no tag", "at least one level such as {road}")

    def _read_level(self, place: int, level: str, column: int) -> None:
        found = _PLACE.fullmatch(level)
        if not found:
            at = next((place for place, character in enumerate(level) if character in "{}"), -1)
            if at >= 0:
                expected = "a tag in braces as a whole level, such as {road}"
                raise TopicError("template", self.text, column + at, f"{level[at]!r} inside {shown(level)}", expected)
            self.levels.append(level)
            return
        tag = found[1]
        if not TAG.fullmatch(tag):
            raise TopicError("template", self.text, column + 1, shown(tag), "a tag of letters, digits and _")
        if tag in self.tags:
            raise TopicError("template", self.text, column + 1, f"the tag {shown(tag)} again", "each tag once")
        self.tags[tag] = place
        self.levels.append(ONE)

    def pattern(self) -> str:
        return SEPARATOR.join(self.levels)

    def path(self, pairs: dict[str, str]) -> str:
        """With these values; tags without one stand for any value."""
        levels = list(self.levels)
        for tag, place in self.tags.items():
            levels[place] = pairs.get(tag, ONE)
        return SEPARATOR.join(levels)

    def overlaps(self, other: _Template) -> bool:
        """Whether a path can be of both."""
        return len(self.levels) == len(other.levels) and all(
            mine == theirs or ONE in (mine, theirs) for mine, theirs in zip(self.levels, other.levels, strict=True)
        )


@final
class Naming:
    """How an application writes its topics."""

    def __init__(self, templates: Iterable[str] = ()) -> None:
        self._by_tags: dict[tuple[str, ...], _Template] = {}
        self._by_text: dict[str, _Template] = {}
        self._index = TopicIndex()
        if isinstance(templates, str):  # which is iterable as well, character by character
            raise ConfigError("templates", templates, "is one text; give a list of templates")
        for text in templates:
            self._take(_Template(text))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {list(self._by_text)}>"

    @property
    def templates(self) -> tuple[str, ...]:
        """As given."""
        return tuple(self._by_text)

    def form(self, text: str) -> TopicForm:
        """In which form a name or pattern was written."""
        return TopicForm.TAGS if is_tags(text) else TopicForm.PATH

    def path(self, text: str) -> str:
        """The canonical path of a topic. Raises TopicError, which names the column."""
        if not is_tags(text):
            return check_topic_path("topic", text)
        path = self._path_of(read_tags("topic", text, wildcards=False))
        return _bounded("topic", text, path, TOPIC_BYTES_MAX)

    def pattern(self, text: str) -> str:
        """The canonical pattern. Raises TopicError, which names the column."""
        if not is_tags(text):
            return check_path("pattern", text, Use.WRITTEN_PATTERN)
        written = read_tags("pattern", text, wildcards=True)
        if not written.open:
            return _bounded("pattern", text, self._path_of(written), PATTERN_BYTES_MAX)
        templates = [template for template in self._by_text.values() if written.pairs.keys() <= template.tags.keys()]
        if len(templates) > 1:
            choice = " or ".join(f"those of {shown(template.text)}" for template in templates[:2])
            raise TopicError("pattern", text, len(text.rstrip()), f"{MANY!r}", f"all tags: {choice} could be meant")
        if templates:
            return _bounded("pattern", text, templates[0].path(written.pairs), PATTERN_BYTES_MAX)
        levels = f"{SEPARATOR}{MANY}{SEPARATOR}".join(_tag_levels(written.pairs))
        return _bounded("pattern", text, f"{MANY}{SEPARATOR}{levels}{SEPARATOR}{MANY}", PATTERN_BYTES_MAX)

    def tags(self, path: str) -> str | None:
        """A topic as tags, which `path` leads back to it; None if it has no such form."""
        levels = path.split(SEPARATOR)
        for text in self._index.match(path):
            template = self._by_text[text]
            pairs = {tag: levels[place] for tag, place in template.tags.items()}
            if all(is_value(value) for value in pairs.values()):
                return write_tags(pairs)
        pairs = {}
        last = ""
        for level in levels:
            found = _TAG_LEVEL.fullmatch(level)
            if not found or found[1] <= last or not is_value(found[2]):
                return None
            last = found[1]
            pairs[last] = found[2]
        return write_tags(pairs) if tuple(pairs) not in self._by_tags else None

    def shown(self, path: str, form: TopicForm) -> str:
        """A topic for somebody who writes in this form; as a path if it has no tags."""
        return (self.tags(path) or path) if form is TopicForm.TAGS else path

    def _take(self, template: _Template) -> None:
        if len(self._by_text) == TOPIC_TEMPLATES_MAX:
            raise ConfigError("template", template.text, f"is one of too many; give at most {TOPIC_TEMPLATES_MAX}")
        tags = tuple(sorted(template.tags))
        if (twin := self._by_tags.get(tags)) is not None:
            raise ConfigError("template", template.text, f"has the same tags as {twin.text!r}; remove one of them")
        for other in self._by_text.values():
            if template.overlaps(other):
                remedy = f"has paths that {other.text!r} has as well; let a level that is no tag differ"
                raise ConfigError("template", template.text, remedy)
        self._by_tags[tags] = template
        self._by_text[template.text] = template
        self._index.add(template.pattern(), template.text)

    def _path_of(self, written: TagText) -> str:
        template = self._by_tags.get(tuple(sorted(written.pairs)))
        return template.path(written.pairs) if template else SEPARATOR.join(_tag_levels(written.pairs))


PLAIN: Final = Naming()
"""Without templates."""


def parse_topic(text: str, naming: Naming | None = None) -> str:
    """The canonical path of a topic as somebody wrote it. Raises TopicError, which names the column."""
    return (naming or PLAIN).path(text)


def parse_pattern(text: str, naming: Naming | None = None) -> str:
    """The canonical pattern of a subscription as somebody wrote it. Raises TopicError, which names the column."""
    return (naming or PLAIN).pattern(text)


def _tag_levels(pairs: dict[str, str]) -> list[str]:
    return [f"{tag}={value}" for tag, value in sorted(pairs.items())]


def _bounded(field: str, text: str, path: str, bytes_max: int) -> str:
    """The path that tags lead to. They are sound, so all that can be wrong is its length, at no column of the text."""
    if (size := size_of(path)) > bytes_max:
        raise TopicError(field, text, 1, f"tags whose path has {size} bytes", f"at most {bytes_max}")
    return path
