"""What one job writes the other reads, and so does `causeway plan placement`."""

from __future__ import annotations

from pathlib import Path

import pytest

from causeway.errors import ConfigError
from causeway.pipeline.measured_model import MeasuredModel, read_model, write_model
from causeway.placement.tables import read_description

MODEL = MeasuredModel(
    items=["a", "b"],
    means=[3.0, 4.0],
    covariance=[[1.0, 0.5], [0.5, 2.0]],
    brokers={"b1": 10.0, "b2": 20.0},
    present={"a": ["b1"], "b": ["b2"]},
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_model(str(tmp_path), MODEL)
    assert read_model(str(tmp_path)) == MODEL


def test_it_is_a_description_for_a_plan(tmp_path: Path) -> None:
    found = read_description((tmp_path / write_model(str(tmp_path), MODEL)).read_text())
    assert list(found.model.items) == MODEL.items
    assert found.model.means.tolist() == MODEL.means
    assert found.model.covariance.tolist() == MODEL.covariance
    assert {one.name: one.capacity for one in found.brokers} == MODEL.brokers
    assert found.present is not None
    assert found.present.owners == {"a": "b1", "b": "b2"}


@pytest.mark.parametrize(("text", "said"), [("", "was not written by the job rates"), (None, "cannot be read")])
def test_what_cannot_be_read_is_named(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "model.json").write_text(text)
    with pytest.raises(ConfigError, match=said):
        read_model(str(tmp_path))
    with pytest.raises(ConfigError, match="give the folder"):
        read_model("")
