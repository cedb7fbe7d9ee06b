"""The notebooks of examples/notebooks: clean, and the first one does what it says. With
SALTUS_TEST_LONG a kernel runs each of them whole."""
import json
import os
import re
import resource
import subprocess
import sys

import pytest

from conftest import EXAMPLES

NAMES = ["bistability", "cell-in-space", "estimation", "first-steps"]
LONG = pytest.mark.skipif(not os.environ.get("SALTUS_TEST_LONG"),
                          reason="SALTUS_TEST_LONG runs notebooks whole")

# Widgets are hidden from the kernel, whether they are there or not.
EXECUTE = """
import sys
import nbclient, nbformat
notebook = nbformat.read(sys.argv[1], 4)
hide = nbformat.v4.new_code_cell("import sys; sys.modules['ipywidgets'] = None")
notebook.cells.insert(0, hide)
nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
nbformat.write(notebook, "executed.ipynb")
"""


def read(name):
    return json.loads((EXAMPLES / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))


def code_of(notebook):
    return [(cell["id"], "".join(cell["source"])) for cell in notebook["cells"]
            if cell["cell_type"] == "code"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder notebooks, beside the models as the real one, for what they write."""
    for file in EXAMPLES.iterdir():
        if file.name != "notebooks":
            (tmp_path / file.name).symlink_to(file)
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    return tmp_path / "notebooks"


def test_all_are_listed():
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert sorted(f.stem for f in (EXAMPLES / "notebooks").glob("*.ipynb")) == NAMES
    assert all(f"(notebooks/{name}.ipynb)" in listed for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_notebook_is_clean(name):
    notebook = read(name)
    assert notebook["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"}}
    for cell in notebook["cells"]:
        assert cell["metadata"] == {}
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
        wide = [line for line in cell["source"] if len(line.rstrip("\n").encode()) > 100]
        assert not wide
    code = code_of(notebook)
    for cell, source in code:
        compile(source, f"{name}: {cell}", "exec")
    assert sum(source.count("assert ") for _, source in code) >= 4


@pytest.mark.parametrize("name", NAMES)
def test_notebook_is_valid(name):
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(read(name))


def test_first_steps_run(folder):
    for module in ("h5py", "matplotlib", "pandas", "xarray"):
        pytest.importorskip(module)
    names = {}
    for cell, source in code_of(read("first-steps")):
        exec(compile(source, cell, "exec"), names)
    assert names["same"].is_complete and (folder / "schlogl.h5").exists()


def execute(python, name):
    """Run a notebook in this folder; what its cells put out, as (kind, text or data)."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([python, "-c", EXECUTE, EXAMPLES / "notebooks" / f"{name}.ipynb"],
                          env=environment, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr[-3000:]
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 60
    with open("executed.ipynb", encoding="utf-8") as f:
        cells = [c for c in json.load(f)["cells"][1:] if c["cell_type"] == "code"]
    assert all(c["execution_count"] for c in cells)
    return [output for c in cells for output in c["outputs"]]


def check(outputs):
    """Figures are there, and neither errors nor warnings; progress is a bar of text."""
    kinds = [output["output_type"] for output in outputs]
    assert set(kinds) <= {"stream", "display_data", "execute_result"}
    assert any("image/png" in output.get("data", ()) for output in outputs)
    said = {"stdout": "", "stderr": ""}
    for output in outputs:
        if output["output_type"] == "stream":
            said[output["name"]] += "".join(output["text"])
    bar = r"\r *\d+%\|[^|\r]*\| \[[\d:]+<[\d:?]+\]|\r *"
    assert re.sub(bar, "", said["stderr"]) == ""
    assert not re.search("warning|error:|traceback", said["stdout"], re.I)
    return said["stderr"]


@LONG
@pytest.mark.parametrize("name", [n for n in NAMES if n != "estimation"])
def test_notebook_runs(name, folder):
    for module in ("ipykernel", "matplotlib", "nbclient", "pandas", "tqdm", "xarray"):
        pytest.importorskip(module, reason=f"{module} is missing (tools/packages test)")
    said = check(execute(sys.executable, name))
    assert "%|" in said or name == "first-steps"  # which may be done before a bar is drawn


@LONG
def test_estimation_runs(folder, tmp_path):
    python = tmp_path / "venv" / "bin" / "python"
    for command in ([sys.executable, "-m", "venv", python.parents[1]],
                    [python, "-m", "pip", "install", "-q", "--retries", "2", "cffi", "h5py",
                     "ipykernel", "nbclient", "pyabc", "tqdm", "xarray"]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines() or [""]
            pytest.skip(f"pyABC cannot be installed: {said[-1]}")
    check(execute(python, "estimation"))
