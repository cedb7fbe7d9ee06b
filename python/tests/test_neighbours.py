"""Packages that bring libraries of their own which this one has too (HDF5, libsbml, expat), in one
process with it, imported before and after, at work by turns."""
import pytest

from conftest import EXAMPLES, run_python

OURS = f"""
import saltus
def ours(n):
    m = saltus.read({str(EXAMPLES / "schlogl.xml")!r})
    r = m.run(until=1, points=3, runs=5, seed=n, output=f"ours{{n}}.h5",
              overwrite=True)
    assert (r["X"] == m.run(until=1, points=3, runs=5, seed=n)["X"]).all()
    assert saltus.open(f"ours{{n}}.h5").is_complete
    try:
        saltus.read("<sbml>")
    except saltus.ModelError:
        pass
    else:
        raise AssertionError("this is no model")
"""
THEIRS = {
    "h5py": """
import h5py
def h5py_works(n):
    with h5py.File(f"theirs{n}.h5", "w") as f:
        f.create_dataset("x", data=range(1000), chunks=(100,), compression="gzip")
    with h5py.File(f"theirs{n}.h5", "r") as f:
        assert f["x"][:].sum() == 499500
        try:
            f["y"]
        except KeyError:
            return
    raise AssertionError("there is no y")
""",
    "netCDF4": """
import netCDF4
def netCDF4_works(n):
    with netCDF4.Dataset(f"theirs{n}.nc", "w") as f:
        f.createDimension("i", 1000)
        f.createVariable("x", "i8", ("i",), zlib=True)[:] = range(1000)
    with netCDF4.Dataset(f"theirs{n}.nc") as f:
        assert f["x"][:].sum() == 499500
""",
    "libsbml": f"""
import libsbml
def libsbml_works(n):
    document = libsbml.readSBMLFromFile({str(EXAMPLES / "schlogl.xml")!r})
    assert document.getNumErrors() == 0 and document.getModel().getNumReactions() == 4
    assert libsbml.readSBMLFromString("<sbml>").getNumErrors() > 0
    assert len(libsbml.writeSBMLToString(document)) > 1000
""",
}


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("names", [*([name] for name in THEIRS), [*THEIRS]], ids="+".join)
def test_they_do_not_disturb_each_other(names, order, tmp_path):
    for name in names:
        pytest.importorskip(name)
    parts = [*(THEIRS[name] for name in names), OURS]
    code = "".join(parts if order == "before" else reversed(parts)) + "\nfor n in range(1, 4):\n"
    code += "".join(f"    {name}_works(n)\n    ours(n)\n" for name in names)
    done = run_python(code, tmp_path)
    assert done.returncode == 0 and done.stderr == "", done.stderr
