"""Families of messages: none is forgotten, and none belongs to two."""

from __future__ import annotations

from types import ModuleType
from typing import Any, get_args

import msgspec
import pytest

from causeway.core.messages import Message, agents, causal, groups, links, locate, mail, overlay, topics, transactions


def tagged(module: ModuleType) -> set[type[msgspec.Struct]]:
    found = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, msgspec.Struct)]
    return {struct for struct in found if struct.__module__ == module.__name__ and struct.__struct_config__.tag}


@pytest.mark.parametrize(
    ("module", "family"),
    [
        (links, links.LinkMessage),
        (locate, locate.LocateMessage),
        (overlay, overlay.OverlayMessage),
        (groups, groups.GroupMessage),
        (mail, mail.MailMessage),
        (transactions, transactions.TransactionMessage),
        (topics, topics.TopicMessage),
        (causal, causal.CausalMessage),
        (agents, agents.AgentMessage | agents.ToLandmark),
    ],
)
def test_every_message_of_a_module_is_in_its_family(module: ModuleType, family: Any) -> None:
    assert set(get_args(family)) == tagged(module)


def test_every_family_can_be_decoded_and_no_tag_is_used_twice() -> None:
    heads = get_args(Message)
    families = (links, locate, overlay, groups, mail, transactions, topics, causal, agents)
    assert len(heads) == sum(len(tagged(module)) for module in families)
    assert len({head.__struct_config__.tag for head in heads}) == len(heads)
