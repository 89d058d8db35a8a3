# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the pages of the site that have no source of their own: a page for each block, and the API.

The blocks come from grc/*.block.yml, the API from the names in ``__all__`` of the modules.
"""

import hashlib
import inspect
import json
import re
from importlib import import_module
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
GRC = ROOT / "grc"
PICTURES = ROOT / "docs" / "images" / "blocks"
# The text in a picture that holds the ``appearance`` of its block
PICTURE_OF = "appearance"
# Size on the page: the pictures have twice the size of Companion, for screens with small pixels
PICTURE_SIZE = 0.6

# Modules of the API, with the title of their page. A page may have several modules.
API = {
    "detectors": ("Detectors", ("detectors", "llr_health")),
    "coding": ("Codes", ("coding", "coding.ldpc", "coding.turbo")),
    "iterative": ("Iterative receiver", ("iterative",)),
    "wifi": ("Wi-Fi", ("wifi",)),
    "nr": ("5G NR", ("nr",)),
    "ofdm": ("OFDM with pilots of your own", ("ofdm",)),
    "recording": ("Recordings", ("recording",)),
    "sim": ("Simulation", ("sim", "channel", "constellation")),
    "blocks": ("Blocks", ()),
}


def block_files():
    """Return {name of the block in Python: its description in Companion}, in order of the names."""
    files = sorted(GRC.glob("mimopack_*.block.yml"))
    return {path.name.removeprefix("mimopack_").removesuffix(".block.yml"):
            yaml.safe_load(path.read_text(encoding="utf-8")) for path in files}


def appearance(description):
    """Return a checksum of what decides how Companion draws a block."""
    shown = {key: description.get(key) for key in ("label", "parameters", "inputs", "outputs")}
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


def escaped(text):
    """Return plain text as Markdown.

    Text in pairs of double backticks stays code, and names of pages become links.
    """
    parts = re.split(r"(``.*?``)", text)
    parts = [part if part.startswith("``") else re.sub(r"([\\`*_<>\[\]|~#])", r"\\\1", part)
             for part in parts]
    return re.sub(r"\bdocs/([\w-]+\.md)\b", r"[docs/\1](../\1)", "".join(parts))


def described(parameter):
    """Return a parameter's label, and in parentheses its name in Python, default and choices."""
    facts = [f"`{parameter['id']}`"]
    if parameter.get("default") not in (None, ""):
        facts.append(f"default `{parameter['default']}`")
    if "options" in parameter:
        facts.append("one of " + ", ".join(f"`{option}`" for option in parameter["options"]))
    return f"**{escaped(parameter['label'])}** ({'; '.join(facts)})"


def document(description):
    """Return the Markdown of a block's documentation, with the facts about its parameters."""
    by_label = {re.sub(r" \(.*\)$", "", one["label"]): one for one in description["parameters"]}
    told, lines = set(), []
    for line in description["documentation"].splitlines():
        labels, colon, text = line.strip().partition(": ")
        names = labels.split(", ")
        if colon and all(name in by_label for name in names):
            told.update(names)
            lines.append(f"- {', '.join(described(by_label[name]) for name in names)}: "
                         f"{escaped(text)}")
        elif colon and re.fullmatch(r"(Port )?[a-z_]+", labels):
            lines.append(f"- **{escaped(labels)}**: {escaped(text)}")
        elif re.fullmatch(r"\w+:", line):
            lines += ["", f"**{line[:-1]}**", ""]
        else:
            if lines and lines[-1].startswith("- "):
                lines.append("")    # ends the list
            lines.append(escaped(line.strip()))
    rest = [described(one) for label, one in by_label.items()
            if label not in told and one.get("hide") != "all"]
    if rest:
        lines += ["", "Further parameters:", "", *(f"- {one}" for one in rest)]
    return "\n".join(lines)


def width(path):
    """Return the number of columns of a PNG file."""
    return int.from_bytes(path.read_bytes()[16:20], "big")


def block_page(name, description):
    """Return the Markdown of a block's page."""
    picture = PICTURES / f"{name}.png"
    return f"""\
# {escaped(description["label"])}

In Companion the block is under **{escaped(description["category"].replace("/", " / "))}**. In
Python it is {{py:class}}`gnuradio.mimopack.{name}`.

```{{image}} ../images/blocks/{picture.name}
:alt: {name} in GNU Radio Companion
:width: {round(PICTURE_SIZE * width(picture))}px
```

{document(description)}
"""


def block_index(blocks):
    """Return the Markdown of the page that lists all blocks by category."""
    categories = {}
    for name, description in blocks.items():
        categories.setdefault(description["category"].rpartition("/")[2], []).append(
            f"- [{escaped(description['label'])}]({name}.md): `{name}`")
    parts = [f"## {category}\n\n" + "\n".join(lines) for category, lines in categories.items()]
    return ("# All blocks\n\nEach page has the block's parameters and ports, and the block as "
            "GNU Radio Companion draws it.\n\n" + "\n\n".join(parts)
            + "\n\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n")


def heading(text, line="="):
    return f"{text}\n{line * len(text)}\n"


def public_names(module):
    """Return the public names of a module, in alphabetical order."""
    names = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__]
    return sorted(names, key=str.lower)


def summary(value):
    """Return reStructuredText that says what a constant holds."""
    if isinstance(value, dict):
        return "Dictionary with the keys " + ", ".join(f"``{key!r}``" for key in value) + "."
    return f"``{value!r}``"


def entry(module, name):
    """Return the directive of one name."""
    value = getattr(import_module(module), name)
    if isinstance(value, type):
        return f".. autoclass:: {module}.{name}\n   :members:\n"
    if callable(value):
        return f".. autofunction:: {module}.{name}\n"
    return f".. py:data:: {module}.{name}\n\n   {summary(value)}\n"


def api_page(title, modules):
    """Return the reStructuredText of a page of the API."""
    parts = [heading(title)]
    for short in modules:
        module = f"gnuradio.mimopack.{short}"
        parts += [heading(module, "-"), f".. automodule:: {module}\n",
                  *(entry(module, name) for name in public_names(import_module(module)))]
    return "\n".join(parts)


def api_index():
    """Return the reStructuredText of the page that lists the pages of the API."""
    return "\n".join([
        heading("API reference"),
        "The public names of each module, with their docstrings.\n",
        ".. toctree::\n   :maxdepth: 1\n", *(f"   {name}" for name in API), ""])


def detector_blocks():
    """Return the entries of the detector blocks, which share one description."""
    module = "gnuradio.mimopack.blocks.detector"
    blocks = import_module(module).DETECTOR_BLOCKS
    parts = [f".. autoclass:: {module}.detector_block\n   :members:\n"]
    for name, block in blocks.items():
        detector = f":class:`~gnuradio.mimopack.detectors.{block.DETECTOR.__name__}`"
        parts.append(f".. py:class:: gnuradio.mimopack.{name}{inspect.signature(block)}\n\n"
                     f"   The block of the detector {detector}.\n")
    return parts


def blocks_api():
    """Return the reStructuredText of the page with all blocks."""
    package = "gnuradio.mimopack"
    names = [name for name in public_names(import_module(f"{package}.blocks"))
             if not name.endswith("_detector")]
    return "\n".join([
        heading(API["blocks"][0]),
        "The blocks of GNU Radio. :doc:`/docs/blocks/index` shows them in Companion.\n",
        *(entry(package, name) for name in names),
        heading("Detector blocks", "-"), *detector_blocks()])


def write(folder):
    """Write all pages into the folder ``docs`` of the site's sources."""
    blocks = block_files()
    for name, page in {"index": block_index(blocks),
                       **{name: block_page(name, one) for name, one in blocks.items()}}.items():
        (folder / "blocks" / f"{name}.md").write_text(page, encoding="utf-8")
    (folder / "api" / "index.rst").write_text(api_index(), encoding="utf-8")
    for name, (title, modules) in API.items():
        page = api_page(title, modules) if modules else blocks_api()
        (folder / "api" / f"{name}.rst").write_text(page, encoding="utf-8")
