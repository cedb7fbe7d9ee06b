#!/usr/bin/env python3
"""Write those example models that repeat themselves, and the SBML beside every example.

    tools/make_models.py            copies and chains in examples/, then every examples/NAME.xml
    tools/make_models.py sbml FILE.yaml...   only the SBML of these

The YAML is what people edit; lattices have no SBML. SBML is made here from the part of Saltus YAML that the examples use:
mass action, rate rules, distributions, laws of names, numbers, + - * / and functions, and events.
tests/unit/test_examples.c checks that both give the same bits.
"""

import ast
import pathlib
import re
import sys
from xml.sax.saxutils import escape

import yaml  # PyYAML, Debian: python3-yaml

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
MATHML = "http://www.w3.org/1998/Math/MathML"
DISTRIB = "http://www.sbml.org/sbml/symbols/distrib"
PACKAGE = "http://www.sbml.org/sbml/level3/version1/distrib/version1"
TIME = '<csymbol encoding="text" definitionURL="http://www.sbml.org/sbml/symbols/time">t</csymbol>'
OPERATORS = {ast.Add: "plus", ast.Sub: "minus", ast.Mult: "times", ast.Div: "divide", ast.GtE: "geq",
             ast.Gt: "gt", ast.LtE: "leq", ast.Lt: "lt"}
DISTRIBUTIONS = {"binomial", "gamma", "normal", "poisson"}


# --------------------------------------------------------------------------------------------------
# SBML


def number(value):
    """A MathML number that has the bits of the YAML one."""
    mantissa, _, exponent = repr(float(value)).partition("e")
    mantissa = re.sub(r"\.0$", "", mantissa)
    if exponent:
        return f'<cn type="e-notation">{mantissa}<sep/>{int(exponent)}</cn>'
    return f"<cn>{mantissa}</cn>"


def side(text):
    """[(species, n)] of one side of an equation."""
    parts = []
    for term in text.split("+"):
        words = term.split()
        if words and words != ["0"]:
            parts.append((words[-1], int(words[0]) if len(words) == 2 else 1))
    return parts


def mass_action(constant, reactants):
    """k times the number of ways to choose the molecules, as MathML."""
    factors, ways = [f"<ci>{constant}</ci>"], 1
    for species, n in reactants:
        factors.append(f"<ci>{species}</ci>")
        for i in range(1, n):
            factors.append(f"<apply><minus/><ci>{species}</ci><cn>{i}</cn></apply>")
            ways *= i + 1
    product = factors[0] if len(factors) == 1 else f"<apply><times/>{''.join(factors)}</apply>"
    return f"<apply><divide/>{product}<cn>{ways}</cn></apply>" if ways > 1 else product


def law(node):
    """An expression, parsed as Python, as MathML; each operation has two operands, as it is computed."""
    if isinstance(node, ast.BinOp):
        return f"<apply><{OPERATORS[type(node.op)]}/>{law(node.left)}{law(node.right)}</apply>"
    if isinstance(node, ast.Compare):
        return (f"<apply><{OPERATORS[type(node.ops[0])]}/>{law(node.left)}"
                f"{law(node.comparators[0])}</apply>")
    if isinstance(node, ast.Call):
        name = node.func.id
        symbol = (f'<csymbol encoding="text" definitionURL="{DISTRIB}/{name}">{name}</csymbol>'
                  if name in DISTRIBUTIONS else f"<{name}/>")
        return f"<apply>{symbol}{''.join(law(a) for a in node.args)}</apply>"
    if isinstance(node, ast.Name):
        return TIME if node.id == "time" else f"<ci>{node.id}</ci>"
    return number(node.value)


def rate(text, reactants):
    """A constant of mass action, or a law."""
    return mass_action(text, reactants) if text.isidentifier() else value_of(text)


def rate_rule_lines(name, text):
    yield f'      <rateRule variable="{name}"><math xmlns="{MATHML}">'
    yield f"        {value_of(text)}"
    yield "      </math></rateRule>"


def reaction_lines(name, text):
    if isinstance(text, dict):
        equation, constant = text["equation"], None
    else:
        equation, constant = (part.strip() for part in text.split("@"))
    reactants, products = (side(part) for part in equation.split("->"))
    yield f"      <!-- {equation.replace('->', '→')} -->"
    yield f'      <reaction id="{name}" reversible="false">'
    for tag, parts in (("Reactants", reactants), ("Products", products)):
        if parts:
            yield f"        <listOf{tag}>"
            for species, n in parts:
                yield (f'          <speciesReference species="{species}" stoichiometry="{n}"'
                       ' constant="true"/>')
            yield f"        </listOf{tag}>"
    yield f'        <kineticLaw><math xmlns="{MATHML}">'
    made = rate(constant, reactants) if constant else value_of(text["law"])
    yield f"          {made}"
    yield "        </math></kineticLaw>"
    yield "      </reaction>"


def value_of(text):
    return law(ast.parse(str(text), mode="eval").body)


def is_drawn(value):
    return "(" in str(value)


def event_lines(name, event):
    yield f'      <event id="{name}" useValuesFromTriggerTime="true">'
    condition, before = (f"time >= {event['at']}", "false") if "at" in event else (event["when"], "true")
    yield f'        <trigger initialValue="{before}" persistent="true"><math xmlns="{MATHML}">'
    yield f"          {value_of(condition)}"
    yield "        </math></trigger>"
    yield "        <listOfEventAssignments>"
    for target, text in event["set"].items():
        yield f'          <eventAssignment variable="{target}"><math xmlns="{MATHML}">'
        yield f"            {value_of(text)}"
        yield "          </math></eventAssignment>"
    yield "        </listOfEventAssignments>"
    yield "      </event>"


def species_line(name, about):
    about = about if isinstance(about, dict) else {"initial": about}
    flags = {key: str(about.get(key, False)).lower() for key in ("boundary", "constant")}
    start = "" if is_drawn(about["initial"]) else f' initialAmount="{plain(about["initial"])}"'
    return (f'      <species id="{name}" compartment="cell"{start} hasOnlySubstanceUnits="true"'
            f' boundaryCondition="{flags["boundary"]}" constant="{flags["constant"]}"/>')


def plain(value):
    """As few digits as give the same bits."""
    return re.sub(r"\.0$", "", repr(float(value))).replace("e-0", "e-")


def section(tag, lines):
    return [f"    <listOf{tag}>", *lines, f"    </listOf{tag}>"] if lines else []


def sbml_of(path):
    """The SBML text of a YAML example; its leading comment comes along."""
    text = path.read_text(encoding="utf-8")
    comment = re.match(r"(#.*\n)+", text.replace("#\n# Written by tools/make_models.py.\n", ""))
    model = yaml.safe_load(text)
    name = model["model"]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    if comment:
        lines.append("<!--")
        lines += [("  " + line[1:].strip()).rstrip() for line in comment[0].splitlines()]
        lines[-1] += "\n\n  Written by tools/make_models.py from " + path.name + "."
        lines.append("-->")
    drawn = {name: value for part in ("species", "parameters") for name, value in model[part].items()
             if is_drawn(value)}
    distrib = f' xmlns:distrib="{PACKAGE}" distrib:required="true"' if drawn else ""
    lines += ['<sbml xmlns="http://www.sbml.org/sbml/level3/version2/core" level="3" version="2"'
              f'{distrib}>',
              f'  <model id="{re.sub("[^A-Za-z0-9]", "_", path.stem)}" name="{escape(name)}"'
              ' substanceUnits="item" extentUnits="item">']
    lines += section("Compartments", [
        '      <compartment id="cell" spatialDimensions="3" size="1" units="litre"'
        ' constant="true"/>'])
    lines += section("Species", [species_line(*pair) for pair in model["species"].items()])
    changed = {target for event in model.get("events", {}).values() for target in event["set"]}
    lines += section("Parameters", [
        f'      <parameter id="{name}"' + ("" if is_drawn(value) else f' value="{plain(value)}"') +
        f' constant="{str(name not in changed and name not in model.get("rate rules", {})).lower()}"/>'
        for name, value in model["parameters"].items()])
    lines += section("InitialAssignments", [
        f'      <initialAssignment symbol="{name}"><math xmlns="{MATHML}">'
        f'{value_of(value)}</math></initialAssignment>'
        for name, value in drawn.items()])
    lines += section("Rules", [line for pair in model.get("rate rules", {}).items()
                               for line in rate_rule_lines(*pair)])
    lines += section("Reactions", [line for pair in model["reactions"].items()
                                   for line in reaction_lines(*pair)])
    lines += section("Events", [line for pair in model.get("events", {}).items()
                                for line in event_lines(*pair)])
    lines += ["  </model>", "</sbml>", ""]
    return "\n".join(lines)


# --------------------------------------------------------------------------------------------------
# Models that repeat themselves


def yaml_lines(comment, name, species, parameters, reactions):
    lines = [f"# {line}".rstrip() for line in comment] + [f"model: {name}"]
    for title, entries in (("species", species), ("parameters", parameters),
                           ("reactions", reactions)):
        lines.append(f"{title}:")
        lines += [f"  {key}: {value}" for key, value in entries]
    return "\n".join(lines) + "\n"


def copies(path, n, name):
    """n independent copies of a model, which share its parameters."""
    model = yaml.safe_load(path.read_text(encoding="utf-8"))

    def renamed(text, i):
        return re.sub(r"[A-Za-z_]\w*", lambda m: f"{m[0]}_{i}", text)

    species, reactions = [], []
    for i in range(1, n + 1):
        species += [(f"{key}_{i}", value) for key, value in model["species"].items()]
        for key, text in model["reactions"].items():
            equation, constant = text.split("@")
            reactions.append((f"{key}_{i}", f"{renamed(equation, i)}@{constant}"))
    comment = [f"{n} independent copies of {path.name}, where the source of the constants stands.",
               "", "Written by tools/make_models.py."]
    return yaml_lines(comment, name, species, model["parameters"].items(), reactions)


def fully_connected(n):
    """Every species turns into every other. To S_j at j/10, so that all is known exactly."""
    total = n * (n + 1) // 2
    comment = [
        f"Fully connected network: {n} species, each of which turns into every other.",
        "",
        "Klingbeil et al. (2012) have one of this size; constants and start are ours. To Sj at the rate",
        f"cj = j/10 from anywhere: then each molecule is in Sj with probability p = j/{total} in the end, and",
        f"p (1 - exp(-{total / 10:g} t)) at time t if it started elsewhere. The counts are multinomial.",
        "",
        "Written by tools/make_models.py."]
    names = range(1, n + 1)
    species = [(f"S{i}", 100 * total if i == 1 else 0) for i in names]
    parameters = [(f"c{j}", f"{j / 10:g}") for j in names]
    reactions = [(f"from_{i}_to_{j}", f"S{i} -> S{j} @ c{j}")
                 for i in names for j in names if i != j]
    return yaml_lines(comment, "fully connected network", species, parameters, reactions)


def write_repeated():
    made = {"fully-connected": fully_connected(6)}
    for n in (2, 4, 6, 12):
        made[f"dimer-decay-x{n}"] = copies(EXAMPLES / "dimer-decay.yaml", n,
                                           f"decay-dimerisation, {n} copies")
    for n in (16, 32, 64, 128, 256):
        made[f"single-gene-{n}"] = copies(EXAMPLES / "single-gene-8.yaml", n // 8,
                                          f"single gene, {n // 8} copies")
    for name, text in made.items():
        (EXAMPLES / f"{name}.yaml").write_text(text, encoding="utf-8")


def write_sbml(path):
    path.with_suffix(".xml").write_text(sbml_of(path), encoding="utf-8")


def main(arguments):
    if arguments[:1] == ["sbml"]:
        paths = [pathlib.Path(name) for name in arguments[1:]]
    elif not arguments:
        write_repeated()
        paths = [path for path in sorted(EXAMPLES.glob("*.yaml"))
                 if "lattice" not in yaml.safe_load(path.read_text(encoding="utf-8"))]
    else:
        sys.exit(__doc__)
    for path in paths:
        write_sbml(path)


if __name__ == "__main__":
    main(sys.argv[1:])
