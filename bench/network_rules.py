"""A network that rules make, and how it is written as BioNetGen's .net: for the scripts here."""

import collections


class Network:
    """Reactions by constant, reactants and products, each with the number of ways in which it
    happens. A species is a name or a tuple."""

    def __init__(self):
        self.reactions = collections.Counter()

    def add(self, constant, reactants, products):
        sides = (tuple(sorted(side, key=str)) for side in (reactants, products))
        self.reactions[(constant, *sides)] += 1

    def order_from(self, counts):
        """{species: number from 1}, as a network grows from what is there: first reached first."""
        order = {s: i + 1 for i, s in enumerate(counts)}
        by_reactant = collections.defaultdict(list)
        for key in self.reactions:
            for s in key[1]:
                by_reactant[s].append(key)
        todo = collections.deque(counts)
        while todo:
            for _, reactants, products in by_reactant[todo.popleft()]:
                if all(r in order for r in reactants):
                    for s in products:
                        if s not in order:
                            order[s] = len(order) + 1
                            todo.append(s)
        return order


def write(net, constants, counts, name, out):
    """constants: {name: value}; counts: {species: molecules}; name(species): how it is written."""
    order = net.order_from(counts)
    out.write("begin parameters\n")
    for i, (k, value) in enumerate(constants.items()):
        out.write("  %d %s %.9g\n" % (i + 1, k, value))
    out.write("end parameters\nbegin species\n")
    for s, i in order.items():
        out.write("  %d %s %d\n" % (i, name(s), counts.get(s, 0)))
    out.write("end species\nbegin reactions\n")
    reached = [r for r in net.reactions.items() if all(s in order for s in r[0][1])]
    reached.sort(key=lambda r: [order[s] for s in r[0][1]])
    for i, ((constant, reactants, products), ways) in enumerate(reached):
        rate = constant if ways == 1 else "%d*%s" % (ways, constant)
        sides = [",".join(str(order[s]) for s in side) or "0" for side in (reactants, products)]
        out.write("  %d %s %s %s\n" % (i + 1, sides[0], sides[1], rate))
    out.write("end reactions\n")
