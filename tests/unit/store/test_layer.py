from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from causeway.store.layer import Filter, Spans

KEYS = st.binary(max_size=2)


@given(added=st.lists(st.tuples(KEYS, KEYS), max_size=12), asked=st.lists(KEYS, max_size=12))
def test_spans_cover_what_was_added_and_stay_few(added: list[tuple[bytes, bytes]], asked: list[bytes]) -> None:
    spans = Spans()
    for start, stop in added:
        spans.add(start, stop)
    for key in [*asked, *(edge for span in added for edge in span)]:
        assert spans.covers(key) == any(start <= key < stop for start, stop in added)
    edges = [edge for span in zip(spans.starts, spans.stops, strict=True) for edge in span]
    assert edges == sorted(set(edges)), "in order, not touching"


@given(known=st.lists(st.tuples(KEYS, KEYS)), more=st.lists(st.tuples(KEYS, KEYS)))
def test_filter_never_denies_what_it_was_told(
    known: list[tuple[bytes, bytes]], more: list[tuple[bytes, bytes]]
) -> None:
    found = Filter(iter(known))
    for group, key in more:
        found.add(group, key)
    assert all(found.may_have(group, key) for group, key in known + more)


def test_filter_seldom_affirms_what_it_was_not_told() -> None:
    found = Filter((b"g" * 16, b"%d" % number) for number in range(10_000))
    assert sum(found.may_have(b"g" * 16, b"%d" % number) for number in range(10_000, 20_000)) < 500
