"""Who imports whom: small repositories in every language, and the standard library against `ast`.

What a comment or a string says is read like code: it counts for more, never for less.
"""

import ast
import sysconfig
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.corpus.paths import language_of
from hush_core.secrets.propagation.imports import ImportGraph, Reference, references

LANGUAGES = ("c", "cpp", "go", "java", "javascript", "python", "rust", "typescript")


class Repository:
    """Files by path, and the edges of their graph by path."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.paths = list(files)
        self.graph = ImportGraph([(path, language_of(path), content) for path, content in files.items()])

    def imports(self, path: str) -> set[str]:
        return {self.paths[i] for i in self.graph.imports(self.paths.index(path))}

    def importers(self, *targets: str, depth: int = 1) -> dict[str, int]:
        found = self.graph.importers({self.paths.index(t) for t in targets}, depth)
        return {self.paths[i]: distance for i, distance in found.items()}


def names(language: str, content: bytes) -> list[str]:
    return [r.name for r in references(language, content)]


# What is read.


def test_python_references():
    content = (
        b"import a.b as c, d\nfrom . import (x, # why\n  y as z,)\nfrom ..up.two import *\n"
        b"from .import_me import q\n"
        b"import importlib; importlib.import_module('dyn.one'); __import__(\n  \"dyn.two\")\n"
        b"try: import in_try\nexcept ImportError: from e \\\n  import f\nif x: import g.h; import i\n"
        b"s = 'import a_string'\n# import a_comment\n'''\nimport a_docstring\n'''\nyield "
        b"from nothing()\nimportant = 1\n"
    )
    assert set(references("python", content)) == {
        Reference("import", "a.b"),
        Reference("import", "d"),
        Reference("from", ".", ("x", "y")),
        Reference("from", "..up.two", ("*",)),
        Reference("from", ".import_me", ("q",)),
        Reference("import", "importlib"),
        Reference("dynamic", "dyn.one"),
        Reference("dynamic", "dyn.two"),
        Reference("import", "in_try"),
        Reference("from", "e", ("f",)),
        Reference("import", "g.h"),
        Reference("import", "i"),
        *(Reference("import", name) for name in ("a_string", "a_comment", "a_docstring")),
    }


def test_javascript_references():
    content = (
        b"import a, { b } from './one';\nimport './two'\nexport * from \"./three\"; export { "
        b"x } from './four'\n"
        b"const c = require('./five'), d = await import(/* chunk: 'no' */ './six');\njest.mock('./seven');\n"
        b"import(`./locale/${name}.js`);\nnew Worker(new URL('eight.js', import.meta.url));\n"
        b'define([\'./nine\', "./ten"], function () {});\n/// <reference path="./eleven.d.ts" />\n'
        b"// import './said1'\nconst s = \"import './said2'\"; const t = `require('./said3') "
        b"${require('./twelve')}`;\n"
    )
    for language in ("javascript", "typescript"):
        assert set(names(language, content)) == {
            *("./one", "./two", "./three", "./four", "./five", "./six", "./seven", "./locale", "eight.js"),
            *("./nine", "./ten", "./eleven.d.ts", "./twelve", "./said1", "./said2", "./said3"),
        }
    assert set(
        names(
            "typescript",
            b"import type { A } from './t1'; import B = require('./t2'); let x: import('./t3').C;",
        )
    ) == {*("./t1", "./t2", "./t3")}


READ = {
    "go": (
        b'package main\n\nimport "one"\nimport (\n\t// import "said"\n\ta "two/three" // why\n'
        b'\t_ "four"; . "five"\n\t`six`\n)\n'
        b"//go:embed data/x.txt\n",
        {"import": "one two/three four five six said"},
        (Reference("package", "main"), Reference("embed", "data/x.txt")),
    ),
    "java": (
        b"package com.acme . app;\nimport com.acme.lib.One;\nimport static "
        b"com.acme.lib.Two.three;\nimport com.acme.all.*;\n"
        b'// import com.acme.Said;\nclass App { com.acme.full.Four x; String s = "import com.acme.Said2;"; }\n',
        {"import": "com.acme.lib.One com.acme.lib.Two.three com.acme.all.* com.acme.Said com.acme.Said2"},
        (Reference("package", "com.acme.app"), Reference("type", "App"),
         Reference("qualified", "com.acme.full.Four")),
    ),
    "rust": (
        b"use crate::a::{self, b::{C, D as E}, f::*};\npub(crate) use super::g;\nextern crate "
        b"h;\nmod i;\npub mod j { mod k; }\n"
        b'#[path = "odd/place.rs"]\nmod l;\nfn f() { crate::m::n(); include!("gen.rs"); }\n// '
        b"use crate::said;\n",
        {"mod": "i k l",
         "use": "crate::a::self crate::a::b::C crate::a::b::D crate::a::f::* super::g h crate::said"},
        (Reference("path", "odd/place.rs", ("l",)), Reference("include", "gen.rs"),
         Reference("qualified", "crate::m::n")),
    ),
}  # fmt: skip
"""Language → a text, all names that it imports by their kind, and what else is read of it."""


@pytest.mark.parametrize("language", READ)
def test_references(language):
    content, imported, others = READ[language]
    found = references(language, content)
    for kind, all_names in imported.items():
        assert {r.name for r in found if r.kind == kind} == set(all_names.split())
    assert set(others) <= set(found)


def test_c_references():
    content = (
        b'#include "a/one.h"\n  # include <two.h>\n#include MACRO\n//#include "no1.h"\n'
        b'/*\n#include "said.h"\n*/\nconst char *s = "#include <no3.h>";\n#include "three.h" // why\n'
    )
    odd = b'/* why */ #include "four.h"\n#\\\ninclude "five.h"\n%:include <six.h>\n#import "seven.h"\n'
    for language in ("c", "cpp"):
        assert names(language, content) == ["a/one.h", "two.h", "MACRO", "said.h", "three.h"]
        assert names(language, odd) == ["four.h", "five.h", "six.h", "seven.h"]
    assert names("cpp", b"export module m.one;\nimport m.two;\nimport <vec>;\n") == ["m.one", "m.two", "vec"]


def test_other_languages_have_none_and_no_repr_shows_a_name():
    assert references("markdown", b"import secret_name") == []
    assert "secret_name" not in repr(references("python", b"from secret_name import secret_name"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_broken_files_lose_no_import(language):
    line = {
        "python": b"import found_it\n",
        "go": b'import "found_it"\n',
        "java": b"import found_it;\n",
        "rust": b"use found_it;\n",
        "c": b'#include "found_it"\n',
        "cpp": b'#include "found_it"\n',
    }.get(language, b"import 'found_it';\n")
    for before in (
        b"((( ]]] <<<<<<< HEAD '\n",
        b"(" * 5000 + b"\n",
        b"\xff\xfe\x00 ' \" \n",
        b"x<" * 9000 + b"\n",
    ):
        assert "found_it" in names(language, before + line)


# What it reaches.


def test_python_layouts():
    repo = Repository(
        {
            "src/pkg/__init__.py": b"",
            "src/pkg/core.py": b"from . import util\nfrom .sub.deep import thing\n",
            "src/pkg/util.py": b"import requests\n",
            "src/pkg/sub/__init__.py": b"",
            "src/pkg/sub/deep.py": b"from ...pkg.util import x\nfrom .. import core\n",
            "tests/test_core.py": b"import pkg.core\nimport helper\n",
            "tests/helper.py": b"",
            "scripts/run.py": b"from pkg import util\nimport helper\nfrom space.part import one\n",
            "space/part/one.py": b"import importlib\nimportlib.import_module('pkg.sub.deep')\n",
            "other/requests_like.py": b"",
        }
    )
    assert repo.imports("src/pkg/core.py") == {
        *("src/pkg/__init__.py", "src/pkg/util.py", "src/pkg/sub/__init__.py", "src/pkg/sub/deep.py")
    }
    assert repo.imports("src/pkg/util.py") == set()
    assert repo.imports("src/pkg/sub/deep.py") == {
        *("src/pkg/__init__.py", "src/pkg/core.py", "src/pkg/util.py")
    }
    assert repo.imports("tests/test_core.py") == {"src/pkg/__init__.py", "src/pkg/core.py", "tests/helper.py"}
    assert repo.imports("scripts/run.py") >= {"src/pkg/util.py", "tests/helper.py", "space/part/one.py"}
    assert repo.imports("space/part/one.py") >= {"src/pkg/sub/deep.py"}
    assert repo.graph.counts["cut"] == 0 and repo.graph.counts["unresolved"] == 2  # requests, importlib


def test_depth_counts_the_shortest_way():
    files = {
        "a.py": b"",
        "b.py": b"import a\n",
        "c.py": b"import b\n",
        "d.py": b"import c, a\n",
        "e.py": b"import c\n",
        "loop.py": b"import loop, e\n",
    }
    repo = Repository(files)
    assert repo.importers("a.py", depth=0) == {}
    assert repo.importers("a.py") == {"b.py": 1, "d.py": 1}
    assert repo.importers("a.py", depth=2) == {"b.py": 1, "d.py": 1, "c.py": 2}
    assert repo.importers("a.py", depth=9) == {"b.py": 1, "d.py": 1, "c.py": 2, "e.py": 3, "loop.py": 4}
    assert repo.importers("a.py", "b.py", depth=1) == {"c.py": 1, "d.py": 1}
    assert repo.importers("loop.py", depth=3) == {}


def test_ambiguous_modules_are_all_taken():
    repo = Repository(
        {
            "one/app/__init__.py": b"",
            "two/app/__init__.py": b"",
            "use.py": b"import app\n",
            "one/app/util.py": b"",
            "two/app/util.py": b"",
            "three.py": b"from app.util import x\n",
        }
    )
    assert repo.imports("use.py") == {"one/app/__init__.py", "two/app/__init__.py"}
    assert repo.imports("three.py") == set(repo.paths) - {"use.py", "three.py"}


def test_javascript_and_typescript_resolution():
    repo = Repository(
        {
            "package.json": b'{"name": "root", "workspaces": ["packages/*"]}',
            "tsconfig.base.json": b'{ // why\n "compilerOptions": {"baseUrl": ".", "paths": '
            b'{"@lib/*": ["packages/lib/src/*",]}} }',
            "packages/app/tsconfig.json": b'{"extends": "../../tsconfig.base.json"}',
            "packages/lib/package.json": b'{"name": "@acme/lib", "main": "dist/index.js", '
            b'"imports": {"#inner": "./src/inner.ts"}}',
            "packages/lib/src/index.ts": b"export * from './inner.js';\nimport own from '#inner';\n",
            "packages/lib/src/inner.ts": b"import type { T } from './types';\n",
            "packages/lib/src/types.d.ts": b"",
            "packages/lib/src/inner.test.ts": b"import x from './inner';\n",
            "packages/app/main.tsx": b"import a from '@acme/lib';\nimport b from '@lib/inner';\n"
            b"import c from './page';\nimport r from 'react';\n",
            "packages/app/page/index.jsx": b"const d = require('../data.json');\nimport e from "
            b"'@acme/lib/inner';\n",
            "packages/app/data.json": b"{}",
            "packages/app/locale/en.js": b"",
            "packages/app/locale/de.js": b"",
            "packages/app/i18n.js": b"import(`./locale/${x}.js`);\n",
            "packages/app/react.ts": b"",
        }
    )
    lib, app = "packages/lib/src/", "packages/app/"
    assert repo.imports(lib + "index.ts") == {lib + "inner.ts"}
    assert repo.imports(lib + "inner.ts") == {lib + "types.d.ts"}
    assert repo.imports(app + "main.tsx") == {lib + "index.ts", lib + "inner.ts", app + "page/index.jsx"}
    assert repo.imports(app + "page/index.jsx") == {app + "data.json", lib + "inner.ts"}
    assert repo.imports(app + "i18n.js") == {app + "locale/en.js", app + "locale/de.js"}
    assert set(repo.importers(lib + "inner.ts")) == {
        *(lib + "index.ts", lib + "inner.test.ts", app + "main.tsx", app + "page/index.jsx")
    }


def test_go_resolution():
    repo = Repository(
        {
            "go.mod": b"module acme.com/mono\n\nreplace acme.com/other => ./third/other\n",
            "main.go": b'package main\nimport (\n "fmt"\n p "acme.com/mono/pricing"\n '
            b'"acme.com/other/x"\n "acme.com/monorail"\n)\n',
            "pricing/price.go": b"package pricing\n",
            "pricing/model.go": b"package pricing\n",
            "pricing/price_test.go": b'package pricing_test\nimport "acme.com/mono/pricing"\n',
            "third/other/x/x.go": b"package x\n",
            "vendor/lib.org/v/v.go": b"package v\n",
            "use.go": b'package other\nimport "lib.org/v"\n',
            "fmt/fmt.go": b"package fmt\n",
        }
    )
    assert repo.imports("main.go") == {"pricing/price.go", "pricing/model.go", "third/other/x/x.go"}
    assert repo.imports("pricing/price.go") == {"pricing/model.go"}
    assert repo.imports("pricing/price_test.go") == {"pricing/price.go", "pricing/model.go"}
    assert repo.imports("use.go") == {"vendor/lib.org/v/v.go"}


def test_what_stands_in_comments_and_strings_of_java_is_no_code():
    """Of 5,842 tags on protobuf 5,594 came from names in comments of the same package."""
    root = "src/com/acme/"
    repo = Repository(
        {
            root + "Model.java": b"package com.acme; public class Model {}",
            root + "Used.java": b"package com.acme; class Used { /* a */ Model m; // x\n }",
            root
            + "Said.java": b"package com.acme; /** {@link Model}, com.acme.Model */ class Said { // Model\n }",
            root + "Quoted.java": b'package com.acme; class Quoted { String s = "/* Model \\" Model"; }',
            root
            + "After.java": b'package com.acme; class After { char c = \'"\'; Model m; String s = "*/"; }',
            root + "Open.java": b"package com.acme; class Open { int a = b /* c; Model m; }",
            root + "Types.java": b"package com.other; /* class Model in a comment */ class Types {}",
        }
    )
    importers = {PurePosixPath(p).stem for p in repo.importers(root + "Model.java")}
    assert importers == {"Used", "After", "Open"}


def test_java_resolution():
    root = "lib/src/main/java/com/acme/"
    repo = Repository(
        {
            root
            + "price/Model.java": b"package com.acme.price; public class Model { static class Inner {} }",
            root + "price/Sibling.java": b"package com.acme.price; class Sibling { Model m; }",
            root + "price/Stranger.java": b"package com.acme.price; class Stranger { }",
            root + "use/One.java": b"package com.acme.use; import com.acme.price.Model; class One {}",
            root
            + "use/Two.java": b"package com.acme.use; import static com.acme.price.Model.VALUE; class Two {}",
            root + "use/Three.java": b"package com.acme.use; import com.acme.price.*; class Three {}",
            root + "use/Four.java": b"package com.acme.use; class Four { com.acme.price.Model m; }",
            root + "use/Five.java": b"package com.acme.use; import com.acme.price.Model.Inner; class Five {}",
            root + "use/Not.java": b"package com.acme.use; import java.util.Model; class Not { Model m; }",
        }
    )
    importers = {PurePosixPath(p).stem for p in repo.importers(root + "price/Model.java")}
    assert importers == {"Sibling", "One", "Two", "Three", "Four", "Five"}


def test_rust_resolution():
    repo = Repository(
        {
            "Cargo.toml": b'[workspace]\nmembers = ["core", "app"]\n',
            "core/Cargo.toml": b'[package]\nname = "acme-core"\n',
            "core/src/lib.rs": b'pub mod price;\nmod odd { mod inner; }\n#[path = "elsewhere.rs"] '
            b"mod moved;\n",
            "core/src/price/mod.rs": b"mod model;\nuse super::moved::Thing;\n",
            "core/src/price/model.rs": b"use crate::price;\nuse std::fmt;\n",
            "core/src/odd/inner.rs": b"",
            "core/src/elsewhere.rs": b"",
            "core/tests/all.rs": b"mod common;\nuse acme_core::price::Model;\n",
            "core/tests/common/mod.rs": b"",
            "app/Cargo.toml": b'[package]\nname = "app"\n[dependencies]\nrenamed = { package = '
            b'"acme-core", path = "../core" }\n',
            "app/src/main.rs": b"use renamed::price::model::Fit;\nfn main() { "
            b"acme_core::odd::inner::go(); }\n",
        }
    )
    core = "core/src/"
    assert repo.imports(core + "lib.rs") == {
        core + "price/mod.rs",
        core + "odd/inner.rs",
        core + "elsewhere.rs",
    }
    assert repo.imports(core + "price/mod.rs") == {core + "price/model.rs", core + "elsewhere.rs"}
    # `crate::price` is a module, and may be an item of the crate's root as well
    assert repo.imports(core + "price/model.rs") == {core + "price/mod.rs", core + "lib.rs"}
    assert repo.imports("core/tests/all.rs") == {"core/tests/common/mod.rs", core + "price/mod.rs"}
    assert repo.imports("app/src/main.rs") == {core + "price/model.rs", core + "odd/inner.rs"}


def test_c_resolution():
    repo = Repository(
        {
            "src/a.c": b'#include "a.h"\n#include <price/model.h>\n#include "../gen/x.inc"\n'
            b"#include <stdio.h>\n",
            "src/a.h": b"",
            "lib/a.h": b"",
            "include/price/model.h": b"",
            "gen/x.inc": b"",
            "other/b.cpp": b'#include "Price\\Model.h"\n#include "a.h"\nimport acme.mod;\n',
            "other/m.cpp": b"export module acme.mod;\n",
        }
    )
    assert repo.imports("src/a.c") == {"src/a.h", "include/price/model.h", "gen/x.inc"}
    assert repo.imports("other/b.cpp") == {"include/price/model.h", "src/a.h", "lib/a.h", "other/m.cpp"}


def test_paths_out_of_the_repository_reach_nothing():
    repo = Repository(
        {
            "None": b"",
            "a.py": b"from .... import b\n",
            "b.py": b"",
            "c.c": b'#include "../../None"\n',
            "d.js": b"import '../../b'; import '../None';",
            "e.rs": b'include!("../../None");',
        }
    )
    assert all(repo.imports(p) <= {"None"} for p in repo.paths)
    assert repo.imports("d.js") == repo.imports("e.rs") == repo.imports("a.py") == set()


def test_hostile_manifests_are_as_if_not_there():
    deep = b"[" * 100_000
    repo = Repository(
        {
            "package.json": b'{"name": ' + deep,
            "tsconfig.json": b'{"compilerOptions": {"paths": 3, "baseUrl": []}}',
            "jsconfig.json": b'["\xff"]',
            "Cargo.toml": b"a = " + deep,
            "go.mod": b"\xff\x00 module",
            "a.js": b"import './b';",
            "b.js": b"",
        }
    )
    assert repo.imports("a.js") == {"b.js"}


def test_many_files_of_one_name_do_not_multiply():
    """Four thousand `utils` that all import `utils`: 1.6e7 pairs, which no list of edges would hold."""
    count = 4_000
    files = [(f"d{i}/utils.py", "python", b"import utils\n") for i in range(count)]
    graph = ImportGraph([*files, ("top.py", "python", b"import utils\n")])
    assert graph.importers({count}, 3) == {}
    assert graph.importers({0}, 3) == {count: 1}  # a script's own folder comes first, so each has its own
    scripts = [(f"s{i}/run.py", "python", b"import utils\n") for i in range(count)]
    graph = ImportGraph([*files, *scripts])
    assert graph.importers({0}, 3) == dict.fromkeys(range(count, 2 * count), 1)


def standard_library() -> tuple[list[str], list[bytes]]:
    root = Path(sysconfig.get_paths()["stdlib"])
    skipped = {"site-packages", "test", "tests", "idlelib", "encodings", "pydoc_data"}
    paths = sorted(p for p in root.rglob("*.py") if skipped.isdisjoint(p.relative_to(root).parts))
    return [p.relative_to(root).as_posix() for p in paths], [p.read_bytes() for p in paths]


def modules_imported(path: str, tree: ast.AST, known: dict[str, int]) -> set[int]:
    """The files that the statements of a tree import, by Python's own rules for one root."""

    def files(parts: list[str]) -> set[int]:
        stem = "/".join(parts)
        return {known[p] for p in (f"{stem}.py", f"{stem}/__init__.py") if p in known}

    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            chains = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = path.split("/")[: -node.level] if node.level else []
            module = above + (node.module.split(".") if node.module else [])
            found |= files(module)
            for alias in node.names:
                found |= files([*module, alias.name])
            chains = [] if node.level else [module]
        else:
            continue
        for chain in chains:
            for end in range(1, len(chain) + 1):
                found |= files(chain[:end])
    return found


@pytest.mark.slow
def test_standard_library_against_ast():
    paths, contents = standard_library()
    known = {path: i for i, path in enumerate(paths)}
    graph = ImportGraph([(path, "python", content) for path, content in zip(paths, contents, strict=True)])
    assert len(paths) > 400
    right = extra = 0
    for i, (path, content) in enumerate(zip(paths, contents, strict=True)):
        try:
            tree = ast.parse(content)
        except SyntaxError:
            continue  # Python 2, in lib2to3
        expected = modules_imported(path, tree, known) - {i}
        found = graph.imports(i)
        assert expected <= found, (path, [paths[j] for j in expected - found])
        right += len(expected)
        extra += len(found - expected)
    assert right > 2000 and extra < right * 0.05
    assert graph.counts["cut"] == 0


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(
    st.dictionaries(st.integers(0, 7), st.sets(st.integers(0, 7), max_size=4), min_size=1),
    st.sets(st.integers(0, 7), min_size=1, max_size=3),
    st.integers(0, 4),
)
def test_importers_are_those_of_a_search_by_hand(edges, targets, depth):
    contents = [b"".join(b"import m%d\n" % j for j in edges.get(i, ())) for i in range(8)]
    graph = ImportGraph([(f"m{i}.py", "python", content) for i, content in enumerate(contents)])
    reached = dict.fromkeys(targets, 0)
    for distance in range(1, depth + 1):
        for i in range(8):
            if i not in reached and any(reached.get(j, 9) == distance - 1 for j in edges.get(i, ())):
                reached[i] = distance
    assert graph.importers(targets, depth) == {i: d for i, d in reached.items() if d}


PIECES = st.sampled_from(
    [b"import ", b"from ", b".", b"(", b")", b"{", b"}", b'"', b"'", b"`", b"::", b"use ", b"mod ", b"a",
     b"#include ", b"/*", b"*/", b"//", b"\n", b";", b",", b"*", b"require(", b"\\\n", b"\xff", b"\0", b" as "]
)  # fmt: skip


@settings(derandomize=True, deadline=None, max_examples=examples(150))
@given(st.sampled_from(LANGUAGES), st.lists(PIECES, max_size=40))
def test_any_bytes_are_read_and_resolved(language, pieces):
    content = b"".join(pieces)
    graph = ImportGraph(
        [("d/a", language, content), ("d/b", language, b""), ("package.json", "json", content)]
    )
    assert graph.counts["references"] == graph.counts["resolved"] + graph.counts["unresolved"]
    assert set(graph.importers({1}, 3)) <= {0}
