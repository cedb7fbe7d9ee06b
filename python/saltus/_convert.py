"""Models of other tools, by way of a format that Saltus reads."""
from __future__ import annotations

import re
from typing import Any

from ._errors import ModelError, need
from ._model import Model
from ._read import build, read


def from_antimony(text: str, **options: Any) -> Model:
    """Read a model in Antimony, by the package antimony; options are those of `read`."""
    antimony = need("antimony", "Antimony")
    antimony.clearPreviousLoads()
    if antimony.loadAntimonyString(text) < 0:
        raise ModelError(antimony.getLastError().strip())
    return read(antimony.getSBMLString(antimony.getMainModuleName()).encode(), **options)


def from_pysb(model: Any, **options: Any) -> Model:
    """Take a PySB model, whose network BioNetGen makes; options are those of `read`."""
    need("pysb", "PySB models")
    from pysb.bng import generate_network
    return read(generate_network(model).encode(), **options)


def from_gillespy2(model: Any) -> Model:
    """Take a GillesPy2 model, with its propensities as they are. One that has rate rules, events or
    function definitions is refused."""
    for what in ("listOfRateRules", "listOfFunctionDefinitions", "listOfEvents"):
        if getattr(model, what, None):
            raise ModelError(f"GillesPy2 model '{model.name}': {what} is not taken over",
                             "export it as SBML and read that")
    species = {s.name: int(s.initial_value) for s in model.listOfSpecies.values()}
    parameters = {p.name: float(p.value) for p in model.listOfParameters.values()}
    parameters["vol"] = float(model.volume)
    rules = {rule.variable if isinstance(rule.variable, str) else rule.variable.name:
             rule.formula.replace("**", "^") for rule in model.listOfAssignmentRules.values()}

    def side(of: Any) -> str:
        return " + ".join(f"{n} {getattr(s, 'name', s)}" for s, n in of.items()) or "0"
    reactions = {}
    for r in model.listOfReactions.values():
        law = r.propensity_function.replace("**", "^")
        if r.reactants and not set(re.findall(r"\w+", law)) & set(species):
            law += f" + 0*{next(iter(species))}"  # a law, and no constant of mass action
        reactions[r.name] = f"{side(r.reactants)} -> {side(r.products)} @ {law}"
    return build(model.name or "model", species=species, parameters=parameters, rules=rules,
                 reactions=reactions)
