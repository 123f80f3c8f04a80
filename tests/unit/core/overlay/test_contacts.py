"""Whom to ask to be let in."""

from __future__ import annotations

from causeway.core.overlay.contacts import Contacts
from causeway.limits import CONTACTS_MAX
from causeway.types import Peer, key_of


def peer(number: int) -> Peer:
    return Peer(key_of(f"c{number}"), f"c{number}", "host", 1, 1)


def test_contacts_are_taken_in_turn() -> None:
    contacts = Contacts()
    assert contacts.take(3) == []
    contacts.add([peer(number) for number in range(5)])
    assert contacts.take(3) == [peer(0), peer(1), peer(2)]
    assert contacts.take(3) == [peer(3), peer(4), peer(0)]
    assert contacts.take(9) == [peer(1), peer(2), peer(3), peer(4), peer(0)]


def test_contact_met_again_is_updated() -> None:
    contacts = Contacts()
    contacts.add([peer(0), peer(1)])
    moved = Peer(peer(0).id, "c0", "elsewhere", 1, 2)
    contacts.add([moved])
    assert contacts.peers() == [moved, peer(1)]


def test_contacts_are_bounded_and_the_oldest_goes_first() -> None:
    contacts = Contacts()
    contacts.add([peer(number) for number in range(CONTACTS_MAX + 3)])
    assert len(contacts) == CONTACTS_MAX
    assert contacts.peers()[0] == peer(3)
