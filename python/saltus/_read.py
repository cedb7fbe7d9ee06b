"""Where models come from: files, texts, and dictionaries of what a file would say."""
from __future__ import annotations

import json
import math
import os
import re
from typing import Any, Mapping, Optional, Union

import numpy as np

from ._errors import InvalidError, text, unreadable, warn
from ._files import any_path, check_regular
from ._model import Model


def read(source: Union[str, bytes, os.PathLike], *, law: str = "literal",
         volume: Optional[Mapping[str, str]] = None, mole: Optional[float] = None,
         stoichiometry: str = "refuse") -> Model:
    """Read a model: SBML, Saltus YAML or BioNetGen .net, also packed by gzip.

    source  a path, or the text itself: bytes, or a str with a line break or beginning with < or {
    law     how k*A^2 is meant where two A are consumed: "literal", or "combinatorial" for A (A-1)
    volume  sizes of compartments, such as {"cell": "1 fL"}, or {"all": ...}; concentrations stay
    mole    how many molecules stand for a mole; Avogadro's number unless given
    stoichiometry  what becomes of half a molecule: "refuse", or "draw", one or none at every firing
    """
    return _warned(load(source, law=law, volume=volume, mole=mole, stoichiometry=stoichiometry))


def load(source: Union[str, bytes, os.PathLike], **given: Any) -> Model:
    """Read a model, and warn of nothing."""
    if isinstance(source, bytes):
        return Model(source, "model", **given)
    if isinstance(source, str) and ("\n" in source or source.lstrip()[:1] in ("<", "{")):
        return Model(source.encode(), "model", **given)
    path = any_path("source", source)
    hint = ("a model's text has a line break, or begins with < or {" if isinstance(source, str)
            else "")
    check_regular(path, hint)
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as failure:
        raise unreadable(path, failure, hint) from failure
    return Model(content, path, **given)


def _warned(model: Model) -> Model:
    """The model, which warns of what it has to say this once: not when it is pickled."""
    for said in model.warnings:
        warn(said)
    return model


def build(name: str = "model", *, species: Optional[Mapping[str, Any]] = None,
          reactions: Optional[Mapping[str, Any]] = None,
          parameters: Optional[Mapping[str, Any]] = None, rules: Optional[Mapping[str, str]] = None,
          events: Optional[Mapping[str, Any]] = None, lattice: Optional[Mapping[str, Any]] = None,
          compartments: Optional[Mapping[str, Any]] = None,
          rate_rules: Optional[Mapping[str, Any]] = None, time: Optional[str] = None,
          law: str = "literal", stoichiometry: str = "refuse") -> Model:
    """Build a model: the sections of Saltus YAML (docs/yaml-format.md) as dictionaries.

        saltus.build(species={"X": 0}, parameters={"k": 20, "g": 0.5},
                     reactions={"in": "0 -> X @ k", "out": "X -> 0 @ g"})

    time  the model's unit of time
    law, stoichiometry  those of `read`
    """
    sections = {"model": text("name", name), "time": time, "compartments": compartments,
                "species": species, "parameters": parameters, "rules": rules,
                "rate rules": rate_rules, "reactions": reactions, "events": events,
                "lattice": lattice}
    given = {key: _plain(value, key) for key, value in sections.items() if value is not None}
    yaml = json.dumps(given, ensure_ascii=False)  # JSON, but for characters beyond ASCII, is YAML
    yaml = re.sub(r"[^\n -~]", lambda c: f"\\U{ord(c[0]):08X}", yaml)
    return _warned(Model(yaml.encode(), "model.yaml", law=law, stoichiometry=stoichiometry))


def _plain(value: Any, where: str) -> Any:
    """What JSON takes, of mappings, rows, texts and numbers, also of numpy; infinity as YAML's."""
    if isinstance(value, Mapping):
        return {str(key): _plain(v, f"{where}: {key}") for key, v in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(v, where) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise InvalidError(f"{where}: {value!r} is no number, text, row or mapping")
