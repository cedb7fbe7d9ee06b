"""Models: read, built, looked at, closed, pickled."""
import copy
import errno
import gzip
import json
import pickle
import threading
import warnings

import numpy as np
import pytest

import saltus
from conftest import ARRIVE, EXAMPLES, LATTICE, run_python


def test_reads_paths_and_texts_of_all_formats(tmp_path):
    yaml = EXAMPLES / "dimer-decay.yaml"
    text = yaml.read_text()
    packed = tmp_path / "model.yaml.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    models = [saltus.read(yaml), saltus.read(str(yaml)), saltus.read(text),
              saltus.read(text.encode()), saltus.read(packed),
              saltus.read((EXAMPLES / "dimer-decay.xml").read_text())]
    counts = [m.run(until=1, points=3, runs=20, seed=4).counts for m in models]
    for other in counts[1:]:
        np.testing.assert_array_equal(other, counts[0])
    net = saltus.read("begin parameters\n 1 k 2\nend parameters\nbegin species\n 1 A() 9\n"
                      "end species\nbegin reactions\n 1 1 0 k #_R1\nend reactions\n")
    assert net.species == {"A()": 9}


def test_tells_what_is_in_it(schlogl):
    assert schlogl.name == "Schlögl"
    assert schlogl.species == {"X": 250, "A": 100000, "B": 200000}
    assert schlogl.parameters == {"c1": 3e-7, "c2": 1e-4, "c3": 1e-3, "c4": 3.5}
    assert schlogl.reactions["up"] == "A + 2 X -> 3 X @ c1"
    assert list(schlogl.reactions) == ["up", "down", "in", "out"]
    assert schlogl.rules == [] and schlogl.warnings == [] and schlogl.lattice is None
    assert "4 reactions" in schlogl.info() and "4 reactions" in repr(schlogl)
    again = saltus.read(schlogl.to_yaml())
    np.testing.assert_array_equal(again.run(until=1, points=2).counts,
                                  schlogl.run(until=1, points=2).counts)
    m = saltus.read(LATTICE)
    assert m.lattice == (4, 3, 2) and m.spacing == 1e-7 and list(m.site_types.values()) == [24]
    assert m.sites().shape == (2, 3, 4) and (m.sites() == 0).all()


def test_a_set_changes_one_call_alone(arrive):
    before = arrive.run(until=2, points=3, runs=10).counts
    changed = arrive.run(until=2, points=3, runs=10, set={"X": 30, "k": 1}).counts
    assert (changed[:, 0] == 30).all()
    other = arrive.run(until=2, points=3, runs=10, set={"g": 5.0}).counts
    assert (other[:, 0] == 0).all()
    np.testing.assert_array_equal(arrive.run(until=2, points=3, runs=10).counts, before)
    assert arrive.species == {"X": 0}
    fresh = saltus.build(**{**ARRIVE, "species": {"X": 30}, "parameters": {"k": 1, "g": 0.5}})
    np.testing.assert_array_equal(fresh.run(until=2, points=3, runs=10).counts, changed)


SQUARE = "species: {A: 100}\nparameters: {k: 1}\nreactions: {r: 2 A -> 0 @ k*A^2/1000}\n"


@pytest.mark.parametrize("make, said", [
    (lambda: saltus.read(SQUARE), r"plain power; .* \(`law combinatorial` of read counts"),
    (lambda: saltus.read(SQUARE.encode()), "plain power"),
    (lambda: saltus.build(species={"A": 1.6}, reactions={}), "initial amount 1.6 is rounded to 2"),
    (lambda: saltus.build(species={"A": 4, "B": 0}, reactions={"r": "0.5 A -> 0.5 B @ 3*A"}),
     "stoichiometries are taken 2 times and its rate divided")])
def test_what_a_model_has_to_say_is_a_warning(make, said):
    """Once, where it is made: neither a run nor a copy says it again."""
    with pytest.warns(UserWarning, match=said) as warned:
        m = make()
    assert [str(w.message) for w in warned] == m.warnings and len(warned) == 1
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickle.loads(pickle.dumps(m)).run(until=0.1)
        m.run(until=0.1)
        m.run(until=0.1, set={"A": 2}, seed=2)
        saltus.read(SQUARE, law="combinatorial")


def test_what_a_model_tells_is_not_assigned_to(arrive, schlogl):
    """That would change no run."""
    told = arrive.parameters
    for change in (lambda: told.__setitem__("k", 1e3), lambda: told.update(k=1e3),
                   lambda: told.__delitem__("k"), lambda: told.__ior__({"k": 1e3}),
                   lambda: told.setdefault("z", 1), told.clear, told.popitem,
                   lambda: told.pop("k"), lambda: arrive.species.__setitem__("X", 500)):
        with pytest.raises(TypeError, match="of a model cannot be changed\nset=.* of run") as refused:
            change()
        assert isinstance(refused.value, saltus.Error)
    for other in (arrive.units, arrive.reactions, arrive.site_types):
        with pytest.raises(TypeError, match="read or build another"):
            other["k"] = "1"
    plain = {"k": 20.0, "g": 0.5}
    assert told == plain and isinstance(told, dict) and dict(told) == {**told} == plain
    assert repr(told) == str(told) == repr(plain) and json.loads(json.dumps(told)) == plain
    assert told | {"k": 1.0} == {"k": 1.0, "g": 0.5} and {"z": 1} | told == {"z": 1, **plain}
    for mine in (told.copy(), copy.copy(told), copy.deepcopy(told), told | {},
                 pickle.loads(pickle.dumps(told))):
        assert type(mine) is dict and mine == plain
        mine["k"] = 1e3
    assert arrive.parameters == plain and schlogl.species["X"] == 250


def test_volume_mole_and_law_are_of_the_model():
    text = SQUARE
    with pytest.warns(UserWarning, match="plain power"):
        literal = saltus.read(text)
    combinatorial = saltus.read(text, law="combinatorial")
    assert literal.warnings and not combinatorial.warnings
    assert (literal.run(until=1, runs=200).mean()[-1] <
            combinatorial.run(until=1, runs=200).mean()[-1])
    cell = "compartments: {cell: 2}\nspecies: {A: {initial: 10, compartment: cell}}\nreactions: {}\n"
    assert saltus.read(cell, volume={"cell": "4"}).species == {"A": 20}
    with pytest.raises(saltus.InvalidError):
        saltus.read(cell, mole=1000)
    with pytest.raises(saltus.InvalidError, match="there is 'literal', 'combinatorial'"):
        saltus.read(text, law="exact")


def test_parts_of_molecules_are_drawn_when_asked():
    text = "species: {A: 1000, B: 0}\nreactions: {r: A -> 0.3 B @ 10}\n"
    with pytest.raises(saltus.Error, match="is not a whole number of molecules"):
        saltus.read(text).run(until=1)
    field = saltus.read(text).run(until=10, points=2, method="ode").mean()[-1][1]
    assert abs(field - 300) < 1e-2
    drawn = pickle.loads(pickle.dumps(saltus.read(text, stoichiometry="draw")))
    mean = drawn.run(until=10, runs=400, points=2).mean()[-1][1]
    assert abs(mean - 300) < 5 * (1000 * 0.3 * 0.7 / 400) ** 0.5
    with pytest.raises(saltus.InvalidError, match="there is 'refuse', 'draw'"):
        saltus.read(text, stoichiometry="dice")


def test_names_that_are_not_there_get_near_ones(arrive):
    with pytest.raises(saltus.InvalidError, match="did you mean 'k'") as failure:
        arrive.run(until=1, set={"kk": 1})
    assert failure.value.hint == "did you mean 'k'?" and isinstance(failure.value, ValueError)
    for wrong in ({"species": "Y"}, {"record": "some"}, {"metod": "tau"}, {"derive": "mean:Y"},
                  {"method": "exact"}, {"set": {"k": float("nan")}}, {"set": {"k": "many"}},
                  {"set": 3}, {"runs": 0}, {"seed": -1}, {"seed": 1 << 64}, {"points": 0},
                  {"every": -1.0}, {"points": 3, "every": 1.0}, {"first": -1}, {"device": "gpu"},
                  {"times": [0, 1]}, {"runs": 1 << 63}, {"threads": -1}):
        with pytest.raises((saltus.InvalidError, saltus.UnavailableError)):
            arrive.run(until=1, **wrong)
    for wrong in ({}, {"times": [1, 0]}, {"times": [float("nan")]}, {"times": []},
                  {"times": [[1, 2]]}, {"until": float("nan")}, {"until": -1}):
        with pytest.raises(saltus.InvalidError):
            arrive.run(**wrong)
    arrive.run(until=1)  # as before


def test_arguments_of_wrong_types_are_named(arrive, tmp_path):
    for wrong, said in (({"runs": 1.5}, "runs=1.5 must be a whole number"),
                        ({"runs": -1}, "runs=-1 must be from 1 to"),
                        ({"seed": None}, "seed=None must be a whole number"),
                        ({"points": "5"}, "points='5' must be a whole number"),
                        ({"every": "often"}, "every='often' must be a number"),
                        ({"frames": "all"}, "frames='all' must be a number"),
                        ({"device": 0}, "device=0 must be a text"),
                        ({"method": 3}, "method=3 must be a text"),
                        ({"species": 5}, "species=5 must be a text or a row of texts"),
                        ({"derive": [5]}, r"derive=\[5\] must be a text or a row of texts"),
                        ({"species": ["X,X"]}, "species: 'X,X' has a comma in it"),
                        ({"derive": ["max:X", "mean:X,min:X"]}, "derive: 'mean:X,min:X' has a comma"),
                        ({"burn_in": "x"}, "burn_in='x' must be a number"),
                        ({"burn_in": 0.5}, "burn_in is for derive, which is not there"),
                        ({"burn_in": -1, "derive": "mean:X"}, "burn_in=-1 must be a time from 0 on"),
                        ({"burn_in": np.nan, "derive": "mean:X"}, "burn_in=nan must be a time"),
                        ({"range": (5, 5), "record": "histogram"}, r"range=\(5, 5\) must rise"),
                        ({"record": ["all"]}, r"record=\['all'\] must be a text"),
                        ({"species": []}, r"species=\[\] names none"),
                        ({"bins": "x"}, "bins='x' must be a whole number"),
                        ({"bins": -1}, "bins=-1 must be from 1 to 1048576"),
                        ({"bins": 0}, "bins=0 must be from 1 to 1048576"),
                        ({"bins": (1 << 20) + 1}, "bins=1048577 must be from 1 to 1048576"),
                        ({"bins": 1 << 63}, "bins=9223372036854775808 must be from 1 to"),
                        ({"points": 10**400}, "points=1000.* at most 1000000000 sample times"),
                        ({"points": 1 << 63}, "points=9223372036854775808: at most 1000000000"),
                        ({"set": np.ones(2)}, r"set=array\(\[1., 1.\]\) must be names with numbers"),
                        ({"set": []}, r"set=\[\] must be names with numbers"),
                        ({"set": {"k": "x", "g": 1}}, "set: k='x' must be a number"),
                        ({"set": {"k": 10**400}}, "set: k=1000.* must be a number"),
                        ({"progress": "no"}, "progress='no' must be True, False or a function"),
                        ({"progress": np.ones(2)}, r"progress=array\(\[1., 1.\]\) must be True,"),
                        ({"no_peer": "no"}, "no_peer='no' must be True or False"),
                        ({"no_peer": 2}, "no_peer=2 must be True or False"),
                        ({"output": tmp_path / "x.h5", "overwrite": "no"},
                         "overwrite='no' must be True or False"),
                        ({"range": 5}, "range=5 must be two numbers"),
                        ({"threads": "all"}, "threads='all' must be a whole number"),
                        ({"threads": 1 << 40}, "threads=1099511627776 does not fit into int"),
                        ({"rtol": "x"}, "rtol='x' must be a number"),
                        ({"rtol": -1}, "rtol -1: choose 1e-12 to 0.1"),
                        ({"atol": np.nan}, "atol nan: it must be above 0"),
                        ({"stiff": True}, "stiff=True must be a text"),
                        ({"output": 5}, "output=5 must be a path"),
                        ({"output": ""}, "output='': the name of a file is needed"),
                        ({"output": tmp_path / "x.csv"}, "x.csv': results are written as HDF5")):
        with pytest.raises(saltus.InvalidError, match=said):
            arrive.run(until=1, **wrong)
    for wrong, said in (({"until": "soon"}, "until='soon' must be a number"),
                        ({"times": ["a"]}, r"times must be numbers, not \['a'\]"),
                        ({"times": [10**400]}, r"times must be numbers, not \[1000.*"),
                        ({"times": [0.0], "frames": 1}, "times ends with 0.0: with frames")):
        with pytest.raises(saltus.InvalidError, match=said):
            arrive.run(**wrong)
    with pytest.raises(saltus.InvalidError, match="common_random_numbers='no' must be True or False"):
        arrive.batch([[1.0]], "k", until=1, common_random_numbers="no")
    with pytest.raises(saltus.InvalidError, match="the values of 'k' must be numbers"):
        arrive.sweep({"k": ["a"]}, until=1)
    with pytest.raises(saltus.InvalidError, match="theta must be numbers"):
        arrive.batch([["a"]], "k", until=1)
    with pytest.raises(saltus.InvalidError, match="^theta has no rows: one at least is needed$"):
        arrive.batch(np.empty((0, 1)), ["k"], until=1)
    with pytest.raises(saltus.InvalidError, match="volume=5 must be names with sizes"):
        saltus.read("species: {A: 1}\n", volume=5)
    with pytest.raises(saltus.InvalidError, match="mole='x' must be a number"):
        saltus.read("species: {A: 1}\n", mole="x")
    for use, said in (
            (lambda: saltus.read(5), "source=5 must be a path"),
            (lambda: saltus.open(None), "path=None must be a path"),
            (lambda: saltus.open("\udfff"), "path=.* must be a path"),
            (lambda: arrive.run(until=1, output="\udfff"), "output=.* must be a path"),
            (lambda: saltus.read("species: {A: 1}\n", law=[]), r"law=\[\] must be a text"),
            (lambda: saltus.read("species: {A: 1}\n", stoichiometry={}), "stoichiometry={} must be"),
            (lambda: saltus.read("species: {A: 1 mol}\n", mole=0), "mole=0: a number above 0"),
            (lambda: arrive.sweep({"k": [10**400]}, until=1), "the values of 'k' must be numbers")):
        with pytest.raises(saltus.InvalidError, match=said):
            use()
    assert not any(tmp_path.iterdir())
    r = arrive.run(until=1, runs=1e2, points=3.0, threads=None, layout=None,
                   progress=np.False_, no_peer=np.True_)
    assert r.counts.shape == (100, 3, 1)
    with pytest.raises(saltus.InvalidError, match="x.txt': results are written as HDF5"):
        r.save(tmp_path / "x.txt")
    for use, said in ((lambda: r.quantile(1.5), "q=1.5 must be one number from 0 to 1"),
                      (lambda: r.quantile("half"), "q='half' must be one number"),
                      (lambda: list(r.blocks("X")), "what blocks gives has no 'X'"),
                      (lambda: list(r.blocks(0)), "name=0 must be a text"),
                      (lambda: r.autocorrelation("X", None), "burn_in=None must be a number"),
                      (lambda: r.autocorrelation("X", -1), "burn_in=-1 must be a time from 0 on")):
        with pytest.raises(saltus.InvalidError, match=said):
            use()
    r.save(tmp_path / "k=0.5")


def test_texts_with_a_character_0_are_refused(arrive, tmp_path):
    """C would take what stands before it."""
    cut = "k\0x"
    theta = np.full((2, 1), 20.0)
    for use in (lambda: arrive.run(until=1, set={cut: 1}), lambda: arrive.run(until=1, species="X\0"),
                lambda: arrive.run(until=1, species=["X", "X\0Y"]),
                lambda: arrive.run(until=1, derive="mean:X\0:"),
                lambda: arrive.run(until=1, device="cpu\0"), lambda: arrive.run(until=1, rng="philox\0"),
                lambda: arrive.run(until=1, method="direct\0"),
                lambda: arrive.run(until=1, output=f"{tmp_path}/a\0.h5"),
                lambda: arrive.run(until=1).save(f"{tmp_path}/a.h5\0"),
                lambda: saltus.open(f"{tmp_path}/a\0"),
                lambda: saltus.open(f"{tmp_path}/a\0".encode()),
                lambda: arrive.batch(theta, [cut], until=1),
                lambda: arrive.sweep({cut: [1.0]}, until=1),
                lambda: arrive.sweep({"k": "lin:1:2:3\0"}, until=1),
                lambda: arrive.sweep({"k": "lin:1:2"}, until=1, design="lhs:3\0"),
                lambda: saltus.read("species: {A: 1}\n", volume={"a\0": "1 l"}),
                lambda: saltus.read("species: {A: 1}\n", volume={"a": "1 l\0"})):
        with pytest.raises(saltus.InvalidError, match="a character 0 in it"):
            use()
    for wrong in ({"name": "a\0b"}, {"species": {"X\0Y": 1}}, {"rules": {"r": "1\0+2"}}):
        with pytest.raises(ValueError):
            saltus.build(**{"species": {"X": 1}, **wrong})
    with pytest.raises(ValueError):
        saltus.read(f"{tmp_path}/a\0.xml")
    with pytest.raises(saltus.InvalidError, match="is no text of Unicode"):
        arrive.run(until=1, species="\udc80")
    assert not any(tmp_path.iterdir())


def test_the_last_number_of_a_trajectory(arrive):
    last = arrive.run(until=1, first=2**63 - 3, runs=2)
    assert last.trajectories.tolist() == [2**63 - 3, 2**63 - 2]
    with pytest.raises(saltus.InvalidError, match=r"^1 trajectory from number 9223372036854775807 on: "
                                                  r"numbers of trajectories end at 2\^63 - 2"):
        arrive.run(until=1, first=2**63 - 1)


def test_times_that_cannot_be_are_named(arrive):
    for wrong, said in (({"until": -1}, "until=-1.0 must be a time above 0"),
                        ({"until": float("inf")}, "until=inf must be a time above 0"),
                        ({"until": 1e308}, "until=1e+308: with 101 sample times it must be below"),
                        ({"until": 1, "every": 1e-10}, "every=1e-10 .* more than 1000000000 times"),
                        ({"until": 1, "frames": 1e-9}, "frames=1e-09 .* more than 16777216 times"),
                        ({"until": 1, "frames": -1}, "frames=-1 must be above 0")):
        with pytest.raises(saltus.InvalidError, match=said.replace("+", r"\+")):
            arrive.run(**wrong)


def test_many_times_are_not_kept():
    """The arrays of many calls, each with a million times of its own."""
    code = """
import resource, saltus
m = saltus.build(species={"X": 0}, reactions={"in": "0 -> X @ 1"})
m.run(until=1, points=1_000_000, record="final")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for i in range(30):
    m.run(until=2 + i, points=1_000_000, record="final")
more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
assert more < 100_000, f"{more} KiB"
assert m.run(until=3, points=4).time.tolist() == [0, 1, 2, 3]
"""
    done = run_python(code, ".")
    assert done.returncode == 0, done.stderr


def test_settings_that_were_asked_for_once_are_not_kept(arrive):
    for i in range(1, 200):
        arrive.run(until=0.1, points=2, method="tau", epsilon=i / 1000)
    assert len(arrive._plans._same) < 100


def test_settings_of_integration_are_followed(arrive):
    grow = saltus.build(species={"X": 0}, parameters={"V": 1}, rate_rules={"V": "0.5*V"},
                        reactions={"in": {"equation": "0 -> X", "law": "3*V"}})
    value = [grow.run(until=4, points=2, species="V", rtol=rtol, atol=rtol)["V"][0, -1]
             for rtol in (1e-2, 1e-9)]
    assert value[0] != value[1] and abs(value[1] / np.exp(2.0) - 1.0) < 1e-7
    always = grow.run(until=4, points=2, species="V", stiff="always")["V"][0, -1]
    assert abs(always / np.exp(2.0) - 1.0) < 1e-4
    with pytest.raises(saltus.InvalidError, match="stiff 'perhaps'"):
        grow.run(until=4, stiff="perhaps")
    with pytest.raises(saltus.InvalidError, match="continuous from 5 molecules on"):
        arrive.run(until=1, method="hybrid", continuous=5)
    counts = [arrive.run(until=8, points=2, runs=20, set={"k": 400}, method="hybrid",
                         continuous=n).counts for n in (50, 10**9)]
    assert (counts[0] != counts[1]).any()


def test_arguments_that_do_nothing_are_told(arrive):
    for idle, said in (({"bins": 5}, "bins is of record 'histogram' alone"),
                       ({"range": (0, 5), "record": "stats"}, "range is of record 'histogram' alone"),
                       ({"continuous": 50}, "continuous is of method 'hybrid' alone"),
                       ({"nc": 5, "method": "direct"}, "nc steers leaps, .* of method 'tau' alone")):
        with pytest.warns(UserWarning, match=said):
            arrive.run(until=1, **idle)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arrive.run(until=1, bins=5, range=(0, 5), record="histogram")
        arrive.run(until=1, continuous=50, method="hybrid")
        arrive.run(until=1, nc=5, method="tau")


def test_all_sections_are_built():
    m = saltus.build("cell", time="min", compartments={"cell": {"size": 2}},
                     species={"A": {"initial": 30, "compartment": "cell"}}, parameters={"y": 1},
                     rate_rules={"y": "-0.1*y"}, rules={"z": "2*y"},
                     reactions={"r": {"equation": "A -> 0", "law": "A/cell*y"}},
                     events={"e": {"at": 5, "set": {"A": 7}}})
    assert m.time_unit == "min" and "integrated" in m.info()
    text = "\n".join(["time: min", "compartments: {cell: 2}",
                      "species: {A: {initial: 30, compartment: cell}}", "parameters: {y: 1}",
                      "rate rules: {y: -0.1*y}", "rules: {z: 2*y}",
                      "reactions: {r: {equation: A -> 0, law: A/cell*y}}",
                      "events: {e: {at: 5, set: {A: 7}}}"])
    np.testing.assert_array_equal(m.run(until=9, runs=5)["A"],
                                  saltus.read(text).run(until=9, runs=5)["A"])


def test_numbers_of_numpy_and_any_text_are_built():
    m = saltus.build("modèle 😀", species={"X": {"initial": np.int64(5), "label": "α\x7f😀"}},
                     parameters={"k": np.float32(0.5), "most": np.inf, "least": float("-inf")},
                     reactions={"out": {"equation": "X -> 0", "rate": "piecewise(k, X < most, 0)"}},
                     events={"e": {"at": np.int64(3), "set": {"X": np.float64(2.0)}}})
    assert m.name == "modèle 😀" and "α" in m.to_yaml() and m.species == {"X": 5}
    assert m.parameters == {"k": 0.5, "most": np.inf, "least": -np.inf}
    walk = saltus.build(species={"A": None}, lattice={
        "size": np.array([2, 3, 4]), "spacing": "10 nm", "step": 1e-6, "diffusion": {"A": 1e-12},
        "place": {"A": {"sites": np.array([[0, 0, 0, 9]])}}})
    assert walk.lattice == (2, 3, 4) and walk.species == {"A": 9} and not walk.reactions
    with pytest.raises(saltus.InvalidError, match="species: X: <object .* is no number, text"):
        saltus.build(species={"X": object()})
    with pytest.raises(saltus.InvalidError, match="name={'species'.*} must be a text"):
        saltus.build(ARRIVE)
    grow = saltus.build(parameters={"y": 1}, rate_rules={"y": "y"})
    assert abs(grow.run(until=1)["y"][0, -1] / np.e - 1.0) < 1e-5


def test_species_that_are_no_counts_are_real():
    m = saltus.build(species={"X": 3, "H": {"initial": 0.5, "boundary": True}},
                     reactions={"r": "0 -> X @ 2*H"})
    assert m.species == {"X": 3, "H": 0.5} and isinstance(m.species["X"], int)


def test_hints_name_the_arguments_of_read():
    model = saltus.read("species: {A: 9}\nreactions: {r: {equation: A -> 0.3 A, law: A}}\n")
    with pytest.raises(saltus.Error) as failure:
        model.run(until=1)
    assert failure.value.hint.startswith("`stoichiometry draw` of read draws one")


def test_amounts_are_real_by_method_ode():
    with pytest.warns(UserWarning, match="'B': initial amount 0.4 is rounded to 0"):
        model = saltus.read("species: {A: 5*B, B: 0.4}\nreactions: {r: A -> B @ 0.1}\n")
    assert model.run(until=1, method="ode")["A"][0, 0] == 2.0
    assert model.run(until=1)["A"][0, 0] == 0  # from 0.4 molecules, which are none
    assert model.run(until=1, method="ode", set={"B": 0.25})["A"][0, 0] == 1.25


def test_tells_what_devices_there_are():
    assert saltus.devices().startswith("cpu: ") and "generic" in saltus.devices()


def test_wrong_models_say_where():
    with pytest.raises(saltus.ModelError, match="model"):
        saltus.read("species: {A: 1}\nreactions: {r: A -> B @ 1}\n")
    with pytest.raises(saltus.ModelError):
        saltus.read("<sbml")
    with pytest.raises(FileNotFoundError, match=r"^nowhere.xml: cannot be read: No such") as failure:
        saltus.read("nowhere.xml")
    assert isinstance(failure.value, saltus.Error) and failure.value.errno == errno.ENOENT


def test_memory_that_is_not_there_is_refused_with_its_bytes(arrive):
    with pytest.raises(saltus.InvalidError, match=r"1000000000 trajectories .* bytes .* GB"):
        arrive.run(until=1, runs=10**9)
    with pytest.raises(saltus.InvalidError, match="bytes"):
        arrive.batch([[1.0]] * 1000, ["k"], until=1, runs=10**8)


def test_a_closed_model_says_so_and_results_stay(arrive):
    r = arrive.run(until=1, runs=5)
    counts = r.counts.copy()
    arrive.close()
    arrive.close()
    np.testing.assert_array_equal(r.counts, counts)
    for use in (lambda: arrive.run(until=1), lambda: arrive.species, lambda: arrive.name,
                lambda: arrive.batch([[1.0]], ["k"], until=1), lambda: r.save("x.h5")):
        with pytest.raises(saltus.InvalidError, match="closed"):
            use()
    assert "closed" in repr(arrive) and "closed" in arrive._repr_html_()


def test_a_result_outlives_its_model():
    r = saltus.build(**ARRIVE).run(until=1, runs=1000)
    x = r["X"]
    del r
    assert x.sum() == x.copy().sum() and x.base is not None


def test_pickles(arrive):
    again = pickle.loads(pickle.dumps(arrive))
    np.testing.assert_array_equal(again.run(until=1, runs=3).counts,
                                  arrive.run(until=1, runs=3).counts)
    yaml = "compartments: {c: 2}\nspecies: {A: {initial: 4, compartment: c}}\nreactions: {}\n"
    resized = saltus.read(yaml, volume={"c": "3"}, law="combinatorial")
    assert pickle.loads(pickle.dumps(resized)).species == {"A": 6}


def test_threads_take_turns(arrive):
    expected = {k: arrive.run(until=1, runs=20, set={"k": k}).counts.copy() for k in range(1, 5)}
    failures = []

    def work(k):
        try:
            for _ in range(30):
                r = arrive.run(until=1, runs=20, set={"k": k})
                np.testing.assert_array_equal(r.counts, expected[k])
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(k,)) for k in expected]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_shows_itself_in_a_notebook(arrive):
    assert "0 -&gt; X @ k" in arrive._repr_html_()
    many = saltus.build(species={f"S{i}": i for i in range(50)}, reactions={})
    assert "and 30 more" in many._repr_html_()


def test_sites():
    m = saltus.read(EXAMPLES / "min-system.yaml")
    sites = m.sites()
    assert sites.shape == m.lattice[::-1] and sites.dtype == "uint8"
    numbers = dict(zip(m.site_types, (int((sites == i).sum()) for i in range(len(m.site_types)))))
    assert numbers == m.site_types and min(numbers.values()) > 0
    assert (m.sites(z=9) == sites[9]).all() and (m.sites(x=-1) == sites[:, :, -1]).all()
    assert (m.sites(x=3, y=slice(5, 9)) == sites[:, 5:9, 3]).all()
    assert m.sites(1, 2, 3) == sites[3, 2, 1]
    for wrong in ({"x": 64}, {"z": slice(0, 9, 2)}, {"y": slice(3, 3)}, {"x": None}, {"y": 1.5}):
        with pytest.raises(saltus.InvalidError, match="a range of 0 to"):
            m.sites(**wrong)
    with pytest.raises(saltus.InvalidError, match="has no lattice"):
        saltus.read(EXAMPLES / "schlogl.xml").sites()
