"""What docs/python.md shows does what it says."""
import re

import pytest

from conftest import ROOT


def test_snippets_run(tmp_path, monkeypatch, capsys):
    pytest.importorskip("h5py")
    pytest.importorskip("xarray")
    pytest.importorskip("matplotlib")
    pytest.importorskip("plotly")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    snippets = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert len(snippets) >= 7
    names = {}
    for snippet in snippets:
        exec(compile(snippet, "docs/python.md", "exec"), names)
    assert names["simulate"](names["arrive"], 5).shape == (100,)
    assert "<saltus.Result: schlogl, 1000 of 1000 trajectories" in capsys.readouterr().out
