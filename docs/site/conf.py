"""The documentation as a site, of the Markdown that stands in the tree: `make docs`.

The source folder is the root of the tree, so that a link leads where it leads on GitHub. This
folder has the table of contents and the frames of two references: of the C API, from what Doxygen
read in the headers, and of the Python package, from its docstrings.
"""
import re
import shutil
from pathlib import Path

import saltus
from sphinx.util import logging

CONTENTS = {
    "Start": ["Saltus <self>", "All pages <docs/README>", "examples/README", "CHANGELOG"],
    "Use": ["docs/command", "docs/python", "docs/models", "docs/yaml-format", "docs/lineages",
            "docs/clusters", "examples/slurm/README", "docs/file-format"],
    "Methods": ["Numerics <docs/numerics>", "Papers' tables <docs/benchmarks>",
                "Speed <bench/RESULTS>"],
    "Reference": ["docs/site/python", "The C library <docs/reference>", "docs/site/c"],
    "Developers": ["CONTRIBUTING", "docs/architecture", "docs/developer-guide", "docs/kernels",
                   "docs/site/folders"],
}

project = "Saltus"
author = "the authors of Saltus"
release = version = saltus.__version__
extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc"]
root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "docs/site/*.rst", "**/README.md", "bench/RESULTS.md"]
exclude_patterns = [".*", "**/.*", "build*", "subprojects"]

myst_heading_anchors = 6

breathe_default_project = "saltus"
breathe_domain_by_extension = {"h": "c"}

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
# Types of other projects, and what is declared but not shown.
nitpick_ignore_regex = [("py:class", r"(numpy|os)\..*"),
                        ("c:identifier", r"u?int\d+_t|size_t|FILE|SALTUS_N_SPLITS"),
                        ("c:identifier", "saltus_(reduc(ed|tion)|derivation)")]

highlight_language = "none"
smartquotes_action = "D"  # dashes; what stands in quotes may be code
html_theme = "furo"
html_title = f"Saltus {release}"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_show_copyright = False
html_domain_indices = False
html_copy_source = False


def add_contents(app, page, source):
    """The first page is README.md, which says nothing of a table of contents."""
    if page == root_doc:
        for caption, pages in CONTENTS.items():
            entries = "\n".join(pages)
            source[0] += f"\n```{{toctree}}\n:caption: {caption}\n:hidden:\n\n{entries}\n```\n"


def as_code(match):
    """A link where it is a name of the package, such as `read` or `Model.run`."""
    owner, _, member = match[1].partition(".")
    is_known = owner in saltus.__all__ and hasattr(getattr(saltus, owner), member or "__doc__")
    return f":py:obj:`{match[1]}`" if is_known else f"``{match[1]}``"


def as_markup(app, what, name, thing, options, lines):
    """Docstrings are plain text: `code`, lists of names with their words, indented code."""
    text, in_list, in_code = [], False, False
    for line in lines:
        starts_code = line.startswith("    ") and not (in_list or in_code or text and text[-1])
        in_code = starts_code or in_code and (not line or line.startswith("    "))
        if starts_code:
            text += ["::", ""]
        if not in_code:
            line = re.sub(r"([*|]|(?<=\w)_(?!\w))", r"\\\1", line)
            line = re.sub(r"`([^`]+)`", as_code, line)
        item = re.match(rf"(\w+(?:, \w+)*) {' ' * (not in_list)}+(\S.*)", line)
        if item:
            text += [f":param {word}: {item[2]}" for word in item[1].split(", ")]
        else:
            text.append(line)
        in_list = bool(item) or in_list and bool(line)
    lines[:] = text


def check_complete(app, env):
    """All that the package and the library offer has its place on a page."""
    functions = (Path(app.srcdir) / "tools" / "exports.txt").read_text(encoding="utf-8").split()
    wanted = {f"saltus.{name}" for name in saltus.__all__} | set(functions)
    found = {thing[0] for domain in ("py", "c") for thing in env.get_domain(domain).get_objects()}
    for name in sorted(wanted - found):
        logging.getLogger(__name__).warning("%s is on no page of docs/site/", name)


def add_index(app, failure):
    if not failure:
        shutil.copyfile(Path(app.outdir) / "README.html", Path(app.outdir) / "index.html")


def setup(app):
    app.connect("source-read", add_contents)
    app.connect("autodoc-process-docstring", as_markup)
    app.connect("env-updated", check_complete)
    app.connect("build-finished", add_index)
