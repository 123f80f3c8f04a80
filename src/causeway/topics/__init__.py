"""Topics: their names, the patterns of subscriptions, and which patterns match (see docs/topics.md).

    index = TopicIndex()
    index.add(parse_pattern("roads/*/speed"), "board")
    index.match(parse_topic("roads/a1/speed"))   # ["board"]

Pure: texts in, texts out. Knows nothing of messages, mailboxes' contents or brokers.
"""

from causeway.errors import TopicError
from causeway.topics.critical import (
    critical_item,
    critical_items,
    critical_part,
    is_critical,
    is_second_way,
    other_way,
    quiet,
)
from causeway.topics.index import TopicIndex
from causeway.topics.items import (
    ALL_ITEMS,
    ITEM_COUNT,
    ITEM_PREFIX,
    is_item,
    is_ordinary_item,
    item_of,
    items_of,
    ordinary_items,
)
from causeway.topics.naming import Naming, TopicForm, parse_pattern, parse_topic
from causeway.topics.paths import check_pattern_path, check_topic_path
from causeway.topics.summaries import covers, summarise
from causeway.topics.temporary import is_temporary, temporary_prefix, temporary_topic

__all__ = [
    "ALL_ITEMS",
    "ITEM_COUNT",
    "ITEM_PREFIX",
    "Naming",
    "TopicError",
    "TopicForm",
    "TopicIndex",
    "check_pattern_path",
    "check_topic_path",
    "covers",
    "critical_item",
    "critical_items",
    "critical_part",
    "is_critical",
    "is_item",
    "is_ordinary_item",
    "is_second_way",
    "is_temporary",
    "item_of",
    "items_of",
    "ordinary_items",
    "other_way",
    "parse_pattern",
    "parse_topic",
    "quiet",
    "summarise",
    "temporary_prefix",
    "temporary_topic",
]
