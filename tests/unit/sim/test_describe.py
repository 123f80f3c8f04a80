from __future__ import annotations

from causeway.core.messages import Chosen, Config, Member
from causeway.sim.describe import Describer
from causeway.types import Peer, key_of


def test_describer_shows_names_instead_of_keys_and_configurations_in_short() -> None:
    describe = Describer()
    describe.name("box")
    peers = [Peer(key_of(name), name, "h", 1, 7) for name in ("a", "b")]
    config = Config("box", 5, peers[0].id, tuple(Member(peer, 7) for peer in peers), (peers[1].id,))
    assert describe(Chosen(key_of("box"), config)).startswith("Chosen(group=box config=<box e5 a* b-> base=")


def test_describer_shortens_what_it_does_not_know() -> None:
    assert Describer()(bytes(100)) == "0000000000000000..100"
    assert Describer()([b"\x01", 2, "x"]) == "[01 2 'x']"
