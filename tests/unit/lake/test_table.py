"""Which files of a lake count: names say what has taken whose place."""

from __future__ import annotations

from pathlib import Path

import pytest

from causeway.errors import LakeError
from causeway.lake.locations import locate
from causeway.lake.table import Segment, SegmentName, listing, name_of, sorted_out

FOLDER = "day=2026-11-17/domain=north/kind=events"


def segment(name: str, folder: str = FOLDER) -> Segment:
    return Segment(locate(f"/lake/{folder}/{name}"), 10, 0, name_of(name))


def live(*names: str) -> list[str]:
    return [one.location.name for one in sorted_out(map(segment, names)).live]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("broker-b1-17-000001.parquet", SegmentName("broker-b1", 17, 1, 1)),
        ("broker-b1-17-000001_000060.parquet", SegmentName("broker-b1", 17, 1, 60)),
        ("broker-b1-17-000007_000007r.parquet", SegmentName("broker-b1", 17, 7, 7, retired=True)),
        ("application-a-2_3-5-1000000.parquet", SegmentName("application-a-2_3", 5, 1_000_000, 1_000_000)),
        ("application-shop%2Ftill-1-7-000002.parquet", SegmentName("application-shop%2Ftill-1", 7, 2, 2)),
    ],
)
def test_name_says_whose_segments_it_stands_for(text: str, name: SegmentName) -> None:
    assert name_of(text) == name
    assert str(name) == text


@pytest.mark.parametrize("text", ["part-00000-1c-c000.zstd.parquet", "notes.parquet", "broker-b1-17-000001.tmp"])
def test_file_that_no_writer_wrote_has_no_such_name(text: str) -> None:
    assert name_of(text) is None


def test_what_another_spans_does_not_count() -> None:
    parts = [f"broker-b1-1-{number:06}.parquet" for number in (1, 2, 3, 4, 5)]
    assert live(*parts) == parts
    assert live(*parts, "broker-b1-1-000001_000003.parquet") == ["broker-b1-1-000001_000003.parquet", *parts[3:]]
    wider = ["broker-b1-1-000001_000003.parquet", "broker-b1-1-000001_000004.parquet"]
    assert live(*parts, *wider) == [wider[1], parts[4]]
    assert live(*parts, *wider, "broker-b1-1-000001_000004r.parquet") == [
        "broker-b1-1-000001_000004r.parquet",
        parts[4],
    ]


def test_other_lives_writers_folders_and_strangers_are_not_spanned() -> None:
    wide = "broker-b1-1-000001_000009.parquet"
    others = [
        "application-b1-1-000002.parquet",
        "broker-b1-2-000002.parquet",
        "broker-b2-1-000002.parquet",
        "x.parquet",
    ]
    assert live(wide, *others) == sorted([wide, *others])
    elsewhere = segment("broker-b1-1-000002.parquet", FOLDER.replace("17", "18"))
    assert elsewhere in sorted_out([segment(wide), elsewhere]).live


def test_two_that_took_the_place_of_the_same_one_are_an_error_that_names_both() -> None:
    with pytest.raises(LakeError, match=r"000001_000003.*000003_000005.*two compactions"):
        live("broker-b1-1-000001_000003.parquet", "broker-b1-1-000003_000005.parquet")


def test_listing_has_whole_files_of_a_kind(tmp_path: Path) -> None:
    for name in ("b.parquet", ".hidden.parquet", "_SUCCESS", "a.parquet"):
        (tmp_path / FOLDER).mkdir(parents=True, exist_ok=True)
        (tmp_path / FOLDER / name).write_bytes(b"12")
    (tmp_path / "planted").mkdir()
    (tmp_path / "planted" / "circle.parquet").write_bytes(b"")
    (found, _) = listing(str(tmp_path), "events").live
    assert (found.location.name, found.size, found.day, found.domain) == ("a.parquet", 2, "2026-11-17", "north")
    assert len(listing(f"file://{tmp_path}").live) == 2
    assert not listing(str(tmp_path), "latency").live
    assert not listing(str(tmp_path / "nowhere")).live
