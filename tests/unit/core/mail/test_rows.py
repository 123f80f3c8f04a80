"""Encodings of rows: what goes in comes out, and key order is number order."""

from __future__ import annotations

from causeway.core.mail.rows import (
    StoredBatch,
    TxId,
    batch_key,
    decode_batch,
    encode,
    mark_key,
    number_of,
    prepared_key,
    seen_key,
    stream_of,
    tx_of,
)


def test_keys_give_back_what_they_name_and_sort_by_number() -> None:
    assert number_of(batch_key(77)) == 77
    assert batch_key(255) < batch_key(256) < batch_key(1 << 40) < mark_key(0)
    assert stream_of(seen_key("a/ü", 1 << 60, 2)) == ("a/ü", 1 << 60, 2)
    tx = TxId("a", 2, 3, 4)
    assert tx_of(prepared_key(tx)) == tx


def test_values_survive_their_encoding() -> None:
    batch = StoredBatch(9, "a", 1, 2, 3, 4, 5, 6, 7, 8, b"o" * 16, b"body", 10, 11)
    assert decode_batch(encode(batch)) == batch
    assert batch.last == 6
