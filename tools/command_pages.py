"""The manual page and the completion of bash, from what the command says of itself:
command_pages.py man|bash OUTPUT SALTUS. What help does not say of an option, its words, stands here,
but for those that help lists itself; a word that help does not know is an error, so that none stays
behind."""
import datetime
import os
import re
import subprocess
import sys
import textwrap

WORDS = {
    "method": "auto",
    "layout": "auto",
    "rng": "philox xorwow mrg32k3a mt19937",
    "law": "literal combinatorial",
    "record": "all stats final histogram",
    "compress": "none fast small",
    "profile": "x y z",
    "kind": "auto bands trajectories histogram heatmap kymograph slice",
    "as": "yaml",
    "device": "auto cpu cuda",
}
# Whose help lists further words itself: "TITLE: a, b (so); TITLE: c".
LISTS = ["method", "layout"]
ENDINGS = {
    "MODEL": "xml|sbml|yaml|yml|net|bngl|(xml|sbml|yaml|yml|net)\\.gz",
    "FILE": "h5|yaml|yml|(yaml|yml)\\.gz",
    "FIGURE": "svg|png|pdf",
}
OPTION = re.compile(r"^\s+(?:(-\w), )?(?:    )?--([\w-]+)(?:=(\S+))?\s{2,}(\S.*)$")

FRONT = r""".\" Made by tools/command_pages.py from what saltus says of itself.
.TH SALTUS 1 "{date}" "saltus {version}" "User commands"
.SH NAME
saltus \- exact stochastic simulation of reaction networks
.SH SYNOPSIS
.B saltus
.I VERB
.RI [ OPTION \|.\|.\|.]
.I FILE
.br
.B saltus help
.RI [ VERB ]
.SH DESCRIPTION
Simulates networks of chemical reactions one random event at a time: well
mixed or on a lattice, one trajectory or a million, on CPUs or NVIDIA GPUs.
A trajectory depends on the model, the method, the seed and its number alone.
.PP
.I MODEL
is a file in SBML, Saltus YAML or BioNetGen's .net, packed by
.BR gzip (1)
or not, or
.B \-
for standard input.
Results are HDF5 files, which other verbs read.
Times are in the model's unit of time, of a lattice in seconds.
.SH VERBS
"""
BACK = r""".SH EXIT STATUS
.TP
.B 0
done
.TP
.B 1
the run failed; what was finished is in the file
.TP
.B 2
wrong usage or bad input; no file was made
.TP
.B 130
interrupted; what was finished is in the file
.SH ENVIRONMENT
.TP
.B BNGPATH
folder of
.BR BNG2.pl ,
which makes networks of BioNetGen's .bngl files; it may be in PATH as well
.TP
.B SALTUS_CACHE
folder in which compiled GPU kernels are kept
.TP
.B SALTUS_PYTHON
interpreter that makes reports, instead of the one for which the Python package was built, or else
of
.B python3
.TP
.B TMPDIR
folder of temporary files, such as the results of a run without
.B \-o
.SH EXAMPLES
.EX
saltus run model.xml \-\-until 100 \-\-runs 10000 \-o result.h5
saltus stats result.h5 \-\-csv
saltus plot result.h5 \-o result.png
zcat model.net.gz | saltus run \- \-\-until 100
saltus sweep model.yaml \-\-vary k=log:0.1:10:20 \-\-until 50 \-o sweep.h5
.EE
"""


def ask(saltus, *arguments):
    fmt = "rmargin=3000,opt-doc-col=40,no-dup-args-note"
    environment = {**os.environ, "ARGP_HELP_FMT": fmt}
    done = subprocess.run([saltus, *arguments], env=environment, check=True, stdout=subprocess.PIPE)
    return done.stdout.decode("utf-8")


class Verb:
    """Usage, sentences before and behind, and groups [(title, [(short, name, value, text)])]."""

    def __init__(self, saltus, name, what):
        lines = ask(saltus, "help", name).splitlines()
        self.name, self.what, self.groups, self.sentences = name, what, [("", [])], []
        self.argument = lines[0].split("[OPTION...]")[1].strip()
        for line in lines[1:]:
            option = OPTION.match(line)
            title = re.match(r"^ (\S.*):$", line)
            if option:
                self.groups[-1][1].append(option.groups())
            elif title:
                self.groups.append((title[1], []))
            elif not line and self.groups[-1][1]:
                self.groups.append(("", []))
            elif line:
                self.sentences.append(line)

    def options(self):
        return [option for _, options in self.groups for option in options]


def read_verbs(saltus):
    found = re.findall(r"^  (\w+) +(\S.*)$", ask(saltus, "help").split("\n\n")[2], re.M)
    verbs = [Verb(saltus, name, what) for name, what in found]
    for name, words in WORDS.items():
        known = {word for verb in verbs for option in verb.options() for word in words_of(option)
                 if option[1] == name}
        if not set(words.split()) <= known:
            sys.exit(f"help does not know of --{name} {set(words.split()) - known}")
    return verbs


def words_of(option):
    """Those that the help of this verb has."""
    _, name, _, text = option
    words = [word for word in WORDS.get(name, "").split() if re.search(rf"\b{word}\b", text)]
    if name in LISTS:
        for part in re.findall(r": ([^;]+)", re.sub(r" \([^)]*\)", "", text)):
            words += part.split(", ")
    return list(dict.fromkeys(words))


def roff(text):
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("…", r"\|.\|.\|.")
    lines = textwrap.wrap(text, 78, break_long_words=False, break_on_hyphens=False)
    return "\n".join(re.sub(r"^([.'])", r"\\&\1", line) for line in lines)


def write_man(out, saltus, verbs):
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", datetime.datetime.now().timestamp()))
    date = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%d")
    version = ask(saltus, "--version").split()[1]
    out.write(FRONT.format(date=date, version=version))
    for verb in verbs:
        out.write(f".SS saltus {verb.name} {roff(verb.argument)}\n".replace(" \n", "\n"))
        for i, sentence in enumerate(verb.sentences):
            out.write(".PP\n" * (i > 0) + roff(sentence) + "\n")
        for title, options in verb.groups:
            if title and options:
                out.write(f".PP\n.I {roff(title)}\n")
            for short, name, value, text in options:
                shown = (f"\\fB{roff(short)}\\fR, " if short else "") + f"\\fB{roff('--' + name)}\\fR"
                out.write(f".TP\n{shown}" + (f"=\\fI{roff(value)}\\fR" if value else "") + "\n")
                out.write(roff(text) + "\n")
    out.write(BACK)


def file_endings(value):
    value = value.strip("[]")
    return ENDINGS.get(value) or "|".join(re.findall(r"\.(\w+)", value))


def write_bash(out, verbs):
    out.write("# Completion of saltus for bash, made by tools/command_pages.py.\n")
    out.write("""
# Files whose names have these endings, and folders.
_saltus_files() {
    local name
    while IFS= read -r name; do
        if [[ -d ${name/#\\~\\//$HOME/} || $name =~ \\.($1)$ ]]; then
            COMPREPLY+=("$name")
        fi
    done < <(compgen -f -- "$2")
    compopt -o filenames 2>/dev/null
}

_saltus_words() {
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_saltus() {
    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}
    COMPREPLY=()
    if [[ $COMP_CWORD -eq 1 ]]; then
""")
    names = " ".join(verb.name for verb in verbs)
    out.write(f'        _saltus_words "{names} help --help --version" "$cur"\n        return\n    fi\n')
    out.write("""    if [[ $cur == = ]]; then # --option=WORD comes in three parts
        cur=
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    case $verb:$before in
""")
    plain = {}
    for verb in verbs:
        for option in verb.options():
            short, name, value, _ = option
            key = f"{verb.name}:--{name}" + (f" | {verb.name}:{short}" if short else "")
            if not value:
                continue
            if name in WORDS:
                plain.setdefault(f'_saltus_words "{" ".join(words_of(option))}" "$cur"', []).append(key)
            elif value == "FOLDER":
                plain.setdefault("_saltus_files / \"$cur\"", []).append(key)
            elif file_endings(value):
                plain.setdefault(f"_saltus_files '{file_endings(value)}' \"$cur\"", []).append(key)
            else:
                plain.setdefault(":", []).append(key)
    for action, keys in plain.items():
        out.write(f"    {' | '.join(keys)}) {action}; return ;;\n")
    out.write("    esac\n    case $verb:$cur in\n")
    out.write(f'    help:*) _saltus_words "{names}" "$cur" ;;\n')
    for verb in verbs:
        options = " ".join(f"--{name}" for _, name, _, _ in verb.options())
        out.write(f'    {verb.name}:-*) _saltus_words "{options}" "$cur" ;;\n')
        if file_endings(verb.argument):
            out.write(f"    {verb.name}:*) _saltus_files '{file_endings(verb.argument)}' \"$cur\" ;;\n")
    out.write("    esac\n}\ncomplete -F _saltus saltus\n")


def main():
    kind, output, saltus = sys.argv[1:]
    verbs = read_verbs(saltus)
    with open(output, "w", encoding="utf-8") as out:
        if kind == "man":
            write_man(out, saltus, verbs)
        else:
            write_bash(out, verbs)


main()
