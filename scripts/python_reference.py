"""python_reference.py FILE

Writes the reference of the Python package, docs/python.md, from the docstrings of the installed package.
"""

from __future__ import annotations

import inspect
import pathlib
import re
import sys
import typing

import exhume
import exhume.sklearn

HEAD = """# The Python package

Made from the docstrings by `scripts/python_reference.py`; a test fails where it is old. A tour with all of it in use is
`python/tutorial.py`.

"""
SECTIONS = [
    ("Recovering", ["inspect", "recover", "Result", "Coefficient", "Effect", "NotCertified", "load", "verify", "Verification", "keys"]),
    ("Extracting", ["extract", "estimated_queries"]),
    ("Comparing", ["compare", "Comparison"]),
    ("Sums of several sites", ["moments", "sums", "step"]),
    ("Networks", ["Network", "Layer", "Alignment", "RectifiedNetwork", "generate", "Planted", "Thresholds"]),
    ("Memorising", ["memorize", "Memorized", "QuadraticNetwork"]),
    ("Thresholds", ["halfspaces", "Halfspaces", "lowest_layer", "LowestLayer", "Assumption"]),
    ("Papers", ["diagnose", "reproduce"]),
    ("Errors, warnings and the machine", ["DataError", "ResourceError", "RecoveryWarning", "blas_kernels"]),
]


def prose(text: str) -> str:
    """A docstring as Markdown: NumPy-style sections as lists, examples as code."""
    lines, out, code, listed = inspect.cleandoc(text).splitlines(), [], False, False
    for number, line in enumerate(lines):
        underlined = number + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[number + 1])
        if re.fullmatch(r"-{3,}", line):
            continue
        if line.startswith(">>>") and not code:
            code = True
            out.append("```python")
        elif code and not line.strip():
            code = False
            out.append("```")
        if code:
            out.append(line)
        elif underlined:
            listed = True
            out += [f"**{line}**", ""]
        elif listed and line and not line.startswith(" "):
            name, colon, kind = line.partition(" : ")
            # After an entry's own lines a sentence that is no entry ends the list.
            if not colon and line.endswith("."):
                listed = False
                out.append(line)
            else:
                out.append(f"- `{name}`" + (f" ({kind})" if colon else ""))
        elif listed and line.startswith("    "):
            out.append("  " + line.strip())
        else:
            out.append(line)
    if code:
        out.append("```")
    return "\n".join(out)


def signature(name: str, value: object) -> str:
    """`name(arguments)` with defaults, without annotations: those are in the text."""
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(value).parameters.values()  # type: ignore[arg-type]
        if parameter.name != "self"
    ]
    return name + str(inspect.Signature(parameters))


def own_doc(cls: type, name: str, source: str) -> str:
    """The string below a field of a NamedTuple, or below `self.name = ...`."""
    match = re.search(rf'^ +(?:self\.)?{name}(?:: [^\n]*| = [^\n]*)\n +"""(.*?)"""$', source, re.S | re.M)
    return match[1] if match else ""


def members(cls: type) -> dict[str, object]:
    """What a class and those of the package that it derives from define, the latter first."""
    own = [kind for kind in reversed(cls.__mro__) if kind.__module__.startswith("exhume")]
    return {name: value for kind in own for name, value in vars(kind).items()}


def describe_class(path: str, cls: type) -> list[str]:
    source = inspect.getsource(cls) if cls.__module__ != "exhume._core" else ""
    fields = getattr(cls, "_fields", None)
    plain = fields is not None or issubclass(cls, Exception)
    out = [f"### {path}", "", "" if plain else f"`{signature(path, cls)}`\n", prose(cls.__doc__ or ""), ""]
    rows = [(name, own_doc(cls, name, source)) for name in fields or ()]
    rows += [(name, value.__doc__ or "") for name, value in members(cls).items() if isinstance(value, property) and not name.startswith("_")]
    if fields is None:
        found = re.findall(r"^ +self\.([a-z]\w*) = ", source, re.M)
        rows += [(name, doc) for name in found if (doc := own_doc(cls, name, source))]
    out += [f"- `{name}`: {inspect.cleandoc(doc)}" if doc else f"- `{name}`" for name, doc in rows]
    out.append("")
    for name, value in members(cls).items():
        if name.startswith("_") and name != "__call__" or isinstance(value, (property, type)):
            continue
        function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        if not inspect.isfunction(function) or not function.__doc__:
            continue
        shown = name if name != "__call__" else "network"
        out += [f"#### `{signature(shown, function)}`", "", prose(function.__doc__), ""]
    return out


def describe(path: str, value: object) -> list[str]:
    if isinstance(value, type):
        return describe_class(path, value)
    return [f"### {path}", "", f"`{signature(path, value)}`", "", prose(typing.cast(str, value.__doc__)), ""]


def main() -> None:
    out = [HEAD + prose(exhume.__doc__ or ""), ""]
    listed = {name for _, names in SECTIONS for name in names} | {"oracles", "routes", "structure"}
    if listed != set(exhume.__all__):
        sys.exit(f"SECTIONS and exhume.__all__ differ by {sorted(listed ^ set(exhume.__all__))}")
    for title, names in SECTIONS:
        out += [f"## {title}", ""]
        for name in names:
            out += describe(f"exhume.{name}", getattr(exhume, name))
    out += ["## exhume.oracles", "", prose(exhume.oracles.__doc__ or ""), ""]
    for name in exhume.oracles.__all__:
        out += describe(f"exhume.oracles.{name}", getattr(exhume.oracles, name))
    out += ["## exhume.routes", "", prose(exhume.routes.__doc__ or ""), ""]
    attributes = [name.replace("-", "_") for name in exhume.routes.names()]
    out += [f"- `exhume.routes.{name}`: {getattr(exhume.routes, name).about}" for name in attributes]
    out += ["", "## exhume.structure", "", prose(exhume.structure.__doc__ or ""), ""]
    for name in exhume.structure.__all__:
        out += describe(f"exhume.structure.{name}", getattr(exhume.structure, name))
    out += ["## exhume.sklearn", "", prose(exhume.sklearn.__doc__ or ""), ""]
    for name in sorted(exhume.sklearn.__all__, reverse=True):
        out += describe(f"exhume.sklearn.{name}", getattr(exhume.sklearn, name))
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in "\n".join(out).splitlines())) + "\n"
    pathlib.Path(sys.argv[1]).write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
