"""Models of other tools. Antimony and PySB (with BioNetGen) only where they are installed; of
GillesPy2 a stand-in has what the package reads, and the real one is compared where it is."""
from types import SimpleNamespace

import numpy as np
import pytest

import saltus


def test_antimony():
    pytest.importorskip("antimony")
    m = saltus.from_antimony("model m\n compartment c; species A in c, B in c; A = 10; B = 0; c = 2;"
                             " k = 0.5; R: A -> B; k*A; end")
    assert m.species == {"A": 10 * 2, "B": 0} and m.name == "m"
    with pytest.raises(saltus.ModelError, match="syntax error"):
        saltus.from_antimony("R: A -> B; k*;")


def test_pysb():
    pysb = pytest.importorskip("pysb")
    with pytest.raises(Exception):
        saltus.from_pysb(None)
    pysb.SelfExporter.do_export = False
    model = pysb.Model("unbind")
    a = pysb.Monomer("A", [])
    k, n = pysb.Parameter("k", 0.5), pysb.Parameter("n", 30)
    for part in (a, k, n, pysb.Rule("r", a() >> None, k)):
        model.add_component(part)
    model.add_initial(pysb.Initial(a(), n))
    try:
        m = saltus.from_pysb(model)
    except Exception as failure:
        if "BNG" in str(failure) or "BioNetGen" in str(failure):
            pytest.skip("BioNetGen is not here")
        raise
    assert m.species["A()"] == 30


class Thing(SimpleNamespace):
    """What GillesPy2's objects are here: something with a name that can be a key."""

    __hash__ = object.__hash__


def named(*things):
    return {thing.name: thing for thing in things}


def test_gillespy2():
    a, b = Thing(name="A", initial_value=100), Thing(name="B", initial_value=0)
    reactions = [Thing(name=name, reactants=left, products=right, propensity_function=law)
                 for name, left, right, law in (
                     ("pair", {a: 2}, {b: 1}, "k*A*(A-1)/vol"), ("apart", {b: 1}, {a: 2}, "g*B"),
                     ("made", {}, {a: 1}, "g*vol"), ("lost", {a: 1}, {}, "g/10"),
                     ("power", {a: 1}, {}, "g*A**2/1000"))]
    model = Thing(name="dimer", volume=2.0, listOfSpecies=named(a, b), listOfAssignmentRules={},
                  listOfParameters=named(Thing(name="k", value=0.01), Thing(name="g", value=0.3)),
                  listOfReactions=named(*reactions))
    m = saltus.from_gillespy2(model)
    assert m.reactions == {"pair": "2 A -> B @ k*A*(A - 1)/vol", "apart": "B -> 2 A @ g*B",
                           "made": "0 -> A @ g*vol", "lost": "A -> 0 @ g/10 + 0*A",
                           "power": "A -> 0 @ g*A^2/1000"}
    assert m.species == {"A": 100, "B": 0} and m.parameters["vol"] == 2.0
    model.listOfEvents = {"e": None}
    with pytest.raises(saltus.ModelError, match="listOfEvents"):
        saltus.from_gillespy2(model)


def test_gillespy2_has_the_same_means():
    gillespy2 = pytest.importorskip("gillespy2")
    model = gillespy2.Model("dimer")
    a, b = (gillespy2.Species(name=n, initial_value=x) for n, x in (("A", 100), ("B", 0)))
    k = gillespy2.Parameter(name="k", expression="0.01")
    model.add_species([a, b])
    model.add_parameter(k)
    model.add_reaction(gillespy2.Reaction(name="pair", reactants={a: 2}, products={b: 1}, rate=k))
    model.timespan(np.linspace(0, 2, 3))
    theirs = model.run(solver=gillespy2.NumPySSASolver, number_of_trajectories=400, seed=3)
    x = np.array([t["B"][-1] for t in theirs])
    r = saltus.from_gillespy2(model).run(until=2, points=3, runs=4000, species="B")
    error = np.sqrt(x.var() / 400 + r.var()[-1, 0] / 4000)
    assert abs(x.mean() - r.mean()[-1, 0]) < 5 * error
