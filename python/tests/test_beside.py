"""What lies beside the package or the command, in an environment as pip makes one, is found from
wherever they lie and however they were started: UDUNITS' units, and NVRTC of a wheel."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import saltus

# A database that has one unit more than UDUNITS' own.
UNITS = """<?xml version="1.0" encoding="US-ASCII"?>
<unit-system>
  <unit><base/><name><singular>meter</singular></name><symbol>m</symbol></unit>
  <unit><base/><name><singular>second</singular></name><symbol>s</symbol></unit>
  <unit><base/><name><singular>mole</singular></name><symbol>mol</symbol></unit>
  <unit><def>1e-3 m^3</def><symbol>L</symbol></unit>
  <unit><def>1e-7 m</def><name><singular>smidgen</singular></name></unit>
</unit-system>
"""
MODEL = """
species: {A: 8}
reactions: {r: A -> 0 @ 0.5}
lattice: {size: [2, 2, 2], spacing: 2 smidgen, step: 0.01, diffusion: {A: 1e-14}}
"""

class Environment:
    def __init__(self, root):
        """As `python3 -m venv` and pip would fill it, with this package and the command."""
        self.packages = root / "lib/python3.9/site-packages"
        self.program = root / "bin/saltus"
        self.program.parent.mkdir(parents=True)
        package = pathlib.Path(saltus.__file__).parent
        shutil.copytree(package, self.packages / "saltus",
                        ignore=shutil.ignore_patterns("__pycache__", "*.p", "native.c"))
        shutil.copy(os.environ["SALTUS_COMMAND"], self.program)
        (root / "model.yaml").write_text(MODEL)
        self.root = root

    def add_units(self):
        folder = self.packages / "saltus/udunits"
        folder.mkdir(exist_ok=True)
        (folder / "udunits2.xml").write_text(UNITS)

    def run(self, *arguments, cwd=None, program=None, **env):
        kept = {k: v for k, v in os.environ.items() if k != "UDUNITS2_XML_PATH"}
        return subprocess.run(list(map(str, arguments)), capture_output=True, text=True,
                              cwd=cwd or self.root, executable=program,
                              env={**kept, "PYTHONPATH": str(self.packages), **env})

    def python(self, code, **options):
        return self.run(sys.executable, "-c", code, **options)


@pytest.fixture
def environment(command, tmp_path):
    # what would be a pattern is a name here
    return Environment(tmp_path / "env [a-z]* ?")


READ = "import saltus; m = saltus.read('model.yaml'); print(m.run(until=1)['A'][0, 0])"


def test_units_are_found(environment, tmp_path):
    model = environment.root / "model.yaml"
    for done in (environment.run(environment.program, "info", model), environment.python(READ)):
        assert done.returncode != 0 and "smidgen" in done.stderr, done
    environment.add_units()

    link = tmp_path / "elsewhere" / "saltus"
    link.parent.mkdir()
    link.symlink_to(environment.program)
    for done in (environment.run(environment.program, "info", model),
                 environment.run(link, "info", model),
                 environment.run("saltus", "info", model, program=environment.program),
                 environment.run("./saltus", "info", model, cwd=environment.program.parent)):
        assert done.returncode == 0, done.stderr
    done = environment.python(READ)
    assert done.returncode == 0 and done.stdout == "8\n", done

    # pip install --target
    shutil.copytree(environment.packages / "saltus", environment.root / "saltus")
    shutil.rmtree(environment.packages)
    done = environment.run(environment.program, "info", model)
    assert done.returncode == 0, done.stderr

    # who names another database gets that one
    other = tmp_path / "other.xml"
    other.write_text(UNITS.replace("smidgen", "mite"))
    done = environment.run(environment.program, "info", model, UDUNITS2_XML_PATH=str(other))
    assert done.returncode != 0 and "smidgen" in done.stderr, done


@pytest.fixture
def nvrtc():
    """The simulated compiler of the build's tests."""
    path = os.environ.get("SALTUS_FAKE_NVRTC")
    if not path:
        pytest.skip("SALTUS_FAKE_NVRTC does not name a library")
    return path


def nvrtc_of(environment):
    """What the command and the module say of NVRTC."""
    done = environment.run(environment.program, "devices"), environment.python(
        "from saltus._native import ffi, lib; print(ffi.string(lib.devices_text()).decode())")
    assert all(d.returncode == 0 for d in done), done
    return [next(line for line in d.stdout.splitlines() if "NVRTC" in line) for d in done]


def test_nvrtc_of_a_wheel_is_found(environment, nvrtc):
    library = environment.packages / "nvidia/cu13/lib/libnvrtc.so.13"
    library.parent.mkdir(parents=True)
    library.write_text("no library")  # passed over
    assert not any("site-packages" in line for line in nvrtc_of(environment))
    shutil.copy(nvrtc, library)
    for line in nvrtc_of(environment):
        assert "site-packages" in line and line.endswith("/nvidia/cu13/lib/libnvrtc.so.13)"), line
