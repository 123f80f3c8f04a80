"""What users say with `.option(...)`, read once and checked: an error names the option, its value and the remedy.

Owns: the names of options and their bounds. Must not know: Spark's classes, the bus.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import msgspec

from causeway.client.message import SERVICES
from causeway.client.url import SCHEME, parse_url
from causeway.errors import ConfigError
from causeway.limits import ID_MAX, MIB
from causeway.names import check_application, check_destination, is_private
from causeway.topics import parse_pattern, parse_topic

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
SOURCE: Final = "source"
CONTENT: Final = "content"
PLAN: Final = "plan"
TOPICS: Final = "topics"
NUMBERS: Final = "numbers"
MILLISECONDS: Final = 1_000_000
PARTITIONS_MAX: Final = 10_000
T = TypeVar("T")


class BusAccess(msgspec.Struct, frozen=True):
    """How a driver or an executor reaches the bus."""

    url: str
    name: str
    timeout: float
    """Seconds that one question, or the acknowledgement of all that a task sent, may take."""


class Edge(msgspec.Struct, frozen=True):
    """Where reading begins or ends."""

    where: str | int
    """`earliest`, `latest`, or an offset."""
    since: int = 0
    """Instead, a time in nanoseconds since 1970; 0 for none."""


class ReadOptions(msgspec.Struct, frozen=True):
    """Of a source."""

    connection: BusAccess
    topics: tuple[str, ...]
    """Canonical patterns."""
    queues: tuple[str, ...]
    start: Mapping[str, Edge]
    """By pattern and queue; the rest begin at the edge under the empty name."""
    end: Mapping[str, Edge]
    messages_max: int
    """Per trigger; 0 for all there are."""
    partitions_min: int
    records_max: int
    """Per partition."""
    divide: str
    """TOPICS: a partition has whole topics, in a queue whole senders. NUMBERS: a stretch of the mailbox."""
    fail_on_data_loss: bool
    history_seconds: float
    """Begin a history of the topics if there is none; 0 to want one that exists."""


class WriteOptions(msgspec.Struct, frozen=True):
    """Of a sink."""

    connection: BusAccess
    topic: str
    queue: str
    service: str
    priority: int
    ttl: float | None
    retain: bool
    order: str
    buffer_bytes: int
    write_id: str


_SHARED: Final = ("url", "name", "timeout", "checkpointLocation", "path")
READ_NAMES: Final = [
    "topics",
    "queues",
    "startingOffsets",
    "endingOffsets",
    "startingTimestamp",
    "endingTimestamp",
    "maxMessagesPerTrigger",
    "minPartitions",
    "maxRecordsPerPartition",
    "divide",
    "columns",
    "failOnDataLoss",
    "historySeconds",
]
WRITE_NAMES: Final = [
    "topic",
    "queue",
    "service",
    "priority",
    "ttl",
    "retain",
    "order",
    "bufferBytes",
    "writeId",
    "queryName",
]
KAFKA: Final = "kafka"
"""As `columns`: those of Kafka's source."""


KAFKA_NAMES: Final = {
    "kafka.bootstrap.servers": "url",
    "kafka.client.id": "name",
    "subscribe": "topics",
    "subscribePattern": "topics",
    "maxOffsetsPerTrigger": "maxMessagesPerTrigger",
}
"""What users of Kafka call some of them."""


def _translated(options: Mapping[str, str]) -> dict[str, str]:
    """By our names in lower case. Raises ConfigError where an option is there twice, by two names."""
    ours = {name.lower(): (name, usual) for name, usual in KAFKA_NAMES.items()}
    found: dict[str, str] = {}
    for name, value in options.items():
        kafka, our = ours.get(name.lower(), ("", name))
        if kafka and our.lower() in {one.lower() for one in options} | found.keys():
            raise ConfigError(kafka, value, f"is another name of {our}, which is given too; leave out one of the two")
        if kafka == "kafka.bootstrap.servers":
            value = f"{SCHEME}://{value}"
        elif kafka == "subscribe":
            value = ";".join(parse_topic(one.strip()) for one in value.split(",") if one.strip())
        found[our.lower()] = value
    return found


class _Given:
    """Options by their names, whatever the case."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._values = _translated(options)

    def check_names(self, names: tuple[str, ...]) -> None:
        """Refuse what nobody reads: it is a slip."""
        known = {name.lower(): name for name in names}
        for name, value in self._values.items():
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                meant = f"did you mean {known[near[0]]!r}?" if near else f"there are {', '.join(names)}"
                raise ConfigError(name, value, f"is no option of the causeway connector; {meant}")

    def text(self, name: str, usual: str = "") -> str:
        return str(self._values.get(name.lower()) or usual)

    def value(self, name: str, usual: T, read: Callable[[str], T], good: Callable[[T], bool], remedy: str) -> T:
        text = self._values.get(name.lower())
        if text is None:
            return usual
        try:
            value = read(text)
        except ValueError:
            raise ConfigError(name, text, remedy) from None
        if not good(value):
            raise ConfigError(name, text, remedy)
        return value

    def count(self, name: str, usual: int, most: int = ID_MAX) -> int:
        remedy = f"must be a whole number from 1 to {most}"
        return self.value(name, usual, int, lambda value: 1 <= value <= most, remedy)

    def seconds(self, name: str, usual: float) -> float:
        remedy = "must be a number of seconds, more than 0"
        return self.value(name, usual, float, lambda value: 0 < value < float("inf"), remedy)

    def flag(self, name: str, *, usual: bool) -> bool:
        text = self.text(name, str(usual)).lower()
        if text not in ("true", "false"):
            raise ConfigError(name, text, "must be true or false")
        return text == "true"

    def one_of(self, name: str, usual: str, words: tuple[str, ...]) -> str:
        text = self.text(name, usual)
        if text not in words:
            raise ConfigError(name, text, f"must be {' or '.join(words)}")
        return text

    def names(self, name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.strip() for part in self.text(name).split(";") if part.strip()))

    def connection(self, timeout: float) -> BusAccess:
        url = self.text("url")
        if not url:
            remedy = (
                "name a broker, such as causeway://127.0.0.1:7400; Spark forgets that of a table with listed columns"
            )
            raise ConfigError("url", url, remedy)
        parse_url(url)
        name = check_application("name", self.text("name", "spark"))
        return BusAccess(url, name, self.seconds("timeout", timeout))


def bus_access(options: Mapping[str, str], *others: str) -> BusAccess:
    """How to reach the bus, when nothing is said but that and these others. Raises ConfigError."""
    given = _Given(options)
    given.check_names((*_SHARED, *others))
    return given.connection(30.0)


def read_options(options: Mapping[str, str], *, stream: bool) -> ReadOptions:
    """What a source was told. Raises ConfigError."""
    given = _Given(options)
    given.check_names((*_SHARED, *READ_NAMES))
    connection = given.connection(30.0)
    topics, queues = given.names("topics"), given.names("queues")
    patterns = tuple(parse_pattern(topic) for topic in topics)
    for queue in queues:
        check_destination("queues", queue)
    if not topics and not queues:
        raise ConfigError("topics", "", "name topics (patterns) or queues to read, several with ';' between them")
    if stream:
        for name in ("endingOffsets", "endingTimestamp"):
            if given.text(name):
                raise ConfigError(name, given.text(name), "belongs to spark.read; a stream ends with its trigger")
    spelled = {**dict(zip(topics, patterns, strict=True)), **{queue: queue for queue in queues}}
    return ReadOptions(
        connection=connection,
        topics=patterns,
        queues=queues,
        start=_edges(given, "starting", LATEST if stream else EARLIEST, spelled),
        end=_edges(given, "ending", LATEST, spelled),
        messages_max=given.count("maxMessagesPerTrigger", 0),
        partitions_min=given.count("minPartitions", 1, PARTITIONS_MAX),
        records_max=given.count("maxRecordsPerPartition", 250_000),
        divide=given.one_of("divide", TOPICS if stream else NUMBERS, (TOPICS, NUMBERS)),
        fail_on_data_loss=given.flag("failOnDataLoss", usual=True),
        history_seconds=given.seconds("historySeconds", 0.0),
    )


def _edges(given: _Given, which: str, usual: str, spelled: Mapping[str, str]) -> dict[str, Edge]:
    """`startingOffsets` and `startingTimestamp`: for all, or as JSON for each."""
    when, where = f"{which}Timestamp", f"{which}Offsets"
    if given.text(when):
        if given.text(where):
            raise ConfigError(when, given.text(when), f"says the same as {where}; leave out one of the two")
        remedy = "must be milliseconds since 1970"
        at = given.value(when, 0, int, lambda value: 0 < value <= ID_MAX // MILLISECONDS, remedy)
        return {"": Edge("", at * MILLISECONDS)}
    text = given.text(where, usual)
    if text in (EARLIEST, LATEST):
        return {"": Edge(text)}
    remedy = "must be 'earliest', 'latest', or JSON such as {\"roads/#\": 1200} with each topic or queue of the source"
    try:
        found = json.loads(text)
    except ValueError:
        raise ConfigError(where, text, remedy) from None
    if not isinstance(found, dict):
        raise ConfigError(where, text, remedy)
    edges = {"": Edge(usual)}
    for name, at in found.items():
        if name not in spelled:
            raise ConfigError(where, name, f"is not read; there are {', '.join(spelled)}")
        if not (at in (EARLIEST, LATEST) or (type(at) is int and 0 <= at <= ID_MAX)):
            raise ConfigError(f"{where}[{name!r}]", at, "must be 'earliest', 'latest' or an offset")
        edges[spelled[name]] = Edge(at)
    return edges


def write_options(options: Mapping[str, str]) -> WriteOptions:
    """What a sink was told. Raises ConfigError."""
    given = _Given(options)
    given.check_names((*_SHARED, *WRITE_NAMES))
    topic, queue = given.text("topic"), given.text("queue")
    if topic and queue:
        raise ConfigError("queue", queue, "topic= is given too; a row goes to one of them")
    service = given.text("service", "transactional")
    if service not in ("transactional", "recoverable"):
        raise ConfigError("service", service, "must be transactional or recoverable: nobody keeps express messages")
    assert service in SERVICES
    return WriteOptions(
        connection=given.connection(120.0),
        topic=parse_topic(topic) if topic else "",
        queue=check_queue(queue) if queue else "",
        service=service,
        priority=given.value("priority", 4, int, lambda value: 0 <= value <= 9, "must be a whole number from 0 to 9"),
        ttl=given.seconds("ttl", 0.0) or None,
        retain=given.flag("retain", usual=False),
        order=given.one_of("order", SOURCE, (SOURCE, CONTENT, PLAN)),
        buffer_bytes=given.count("bufferBytes", 256 * MIB),
        write_id=given.text("writeId"),
    )


def check_queue(name: str) -> str:
    """A mailbox that stays: what a repeated attempt sends must find what the first one left."""
    check_destination("queue", name)
    if is_private(name):
        raise ConfigError("queue", name, "ends with its application; write to a mailbox that stays")
    return name
