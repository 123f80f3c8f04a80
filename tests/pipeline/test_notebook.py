"""The notebook in examples/ runs from top to bottom, from a lake to a decision."""

from __future__ import annotations

import warnings
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "decision.ipynb"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_notebook_comes_to_a_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what runs notebooks, about itself
        from nbclient import NotebookClient

        monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
        monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    told = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    said = "".join(output.get("text", "") for output in told)
    assert "guarantee" in said
    assert any(word in said for word in ("adopt: ", "keep: ", "refuse: "))
    pages = [output["data"]["text/html"] for output in told if "text/html" in output.get("data", {})]
    assert len(pages) == 2
    assert all("<svg" in page for page in pages)


def test_notebook_is_kept_without_what_it_said() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
