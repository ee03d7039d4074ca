"""All expressions that read the text of repositories, with the names they have in their modules."""

import ast
import importlib
import pkgutil
import re
from functools import cache
from pathlib import Path

from hush_core.linear import Linear

ROOMS = ("hush_core.secrets", "hush_core.corpus")
ROOT = Path(__file__).parents[2]


def modules():
    for room in ROOMS:
        package = importlib.import_module(room)
        yield package
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            yield importlib.import_module(found.name)


def expressions(kind):
    """(module, name, expression) of each that a module of ROOMS holds, once."""
    seen = set()
    for module in modules():
        for name, value in vars(module).items():
            if isinstance(value, kind) and id(value) not in seen:
                seen.add(id(value))
                yield module.__name__, name, value


def written_for_re2():
    """Those of RE2: in modules, the places of tools' files and the published formats."""
    from hush_core.secrets.detectors.credential_formats import FORMATS
    from hush_core.secrets.detectors.credential_places import PLACES

    yield from expressions(Linear)
    for number, place in enumerate(PLACES):
        yield "places", f"{number}", Linear(place.pattern, re.M)
        if place.with_:
            yield "places", f"{number} with", Linear(place.with_)
    for kind in FORMATS:
        yield "formats", kind.rule, kind.pattern()


def uses(name, module):
    """The methods of an expression that are called, in its module; in all of hush_core where the name is public."""
    file = ROOT / (module.replace(".", "/") + ".py")
    files = [file] if name.startswith("_") else sorted((ROOT / "hush_core").rglob("*.py"))
    return set().union(*(called(one).get(name, set()) for one in files))


@cache
def called(file):
    """Name → the methods that a module calls on it."""
    found = {}
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            name = node.value.id if isinstance(node.value, ast.Name) else node.value.attr  # `module.NAME`
            found.setdefault(name, set()).add(node.attr)
    return found
