"""Names that protected files define, and the other files that mention one of them.

A file that mentions a rare name defined in a protected file reveals something of it: a `path` secret may spread to
those. Rare means: at most N files of the whole corpus hold the name, the defining ones among them.

Names under MIN_LENGTH characters, and names that every project has (UNIVERSAL), never count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from tree_sitter import Node

from hush_core import linear
from hush_core.secrets.propagation.syntax import Parsed, parse, visit

MIN_LENGTH = 5

UNIVERSAL = frozenset(
    b"__init__ __main__ __name__ __all__ __call__ __enter__ __exit__ __repr__ __str__ __eq__ __hash__ __len__"
    b" __iter__ __next__ __getitem__ __setitem__ __delitem__ __getattr__ __setattr__ __contains__ __version__"
    b" __author__ __slots__ __post_init__ __new__ __file__ __doc__ class value values items index count length"
    b" setup setUp setup_module teardown tearDown test_main tests Tests main_test start close write parse print"
    b" error Error Config config Options options Result result Builder builder Context context Client client"
    b" Server server Handler handler logger Logger toString hashCode equals compareTo getInstance valueOf clone"
    b" finalize constructor render default Default exports module require prototype undefined export import"
    b" return function static public private protected final abstract interface string String object Object"
    b" number Number boolean Boolean buffer Buffer update create delete remove insert append search filter reduce"
    b" apply format status Status message Message version Version params Params props Props state State"
    b" fmt_debug from_str as_ref as_mut into_iter drop_in_place unwrap expect clippy serialize deserialize"
    b" Serialize Deserialize Display Debug Clone Iterator TestMain TestCase Stringer Unmarshal Marshal"
    b" size_t uint8_t uint16_t uint32_t uint64_t int32_t int64_t nullptr namespace template typename"
    b" include".split()
)
"""Conventions of languages and test frameworks, and the words that code in general is made of."""

_COMMON_SCRIPT = (
    "function_declaration.name generator_function_declaration.name class_declaration.name class.name"
    " function_expression.name method_definition.name field_definition.property"
)
_COMMON_C = (
    "function_definition.declarator preproc_def.name preproc_function_def.name struct_specifier.name"
    " union_specifier.name enum_specifier.name enumerator.name type_definition.declarator"
    " field_declaration.declarator"
)
_TYPED = (
    " interface_declaration.name type_alias_declaration.name enum_declaration.name enum_body.name"
    " enum_assignment.name"
    " abstract_class_declaration.name abstract_method_signature.name function_signature.name method_signature.name"
    " property_signature.name public_field_definition.name internal_module.name module.name"
)
_DEFINES = {
    "python": "function_definition.name class_definition.name type_alias_statement.left",
    "javascript": _COMMON_SCRIPT,
    "typescript": _COMMON_SCRIPT + _TYPED,
    "tsx": _COMMON_SCRIPT + _TYPED,
    "go": "function_declaration.name method_declaration.name method_elem.name type_spec.name type_alias.name"
    " field_declaration.name const_spec.name",
    "java": "class_declaration.name interface_declaration.name annotation_type_declaration.name"
    " enum_declaration.name"
    " annotation_type_element_declaration.name enum_constant.name record_declaration.name method_declaration.name"
    " field_declaration.declarator constant_declaration.declarator",
    "rust": "function_item.name function_signature_item.name struct_item.name enum_item.name union_item.name"
    " trait_item.name type_item.name associated_type.name enum_variant.name field_declaration.name const_item.name"
    " static_item.name macro_definition.name mod_item.name",
    "c": _COMMON_C,
    "cpp": _COMMON_C
    + " class_specifier.name namespace_definition.name alias_declaration.name concept_definition.name",
}
"""node.field whose identifier is a definition, wherever it is."""

_DEFINES_OUTSIDE = {
    "python": "assignment.left",
    "javascript": "variable_declarator.name assignment_expression.left",
    "typescript": "variable_declarator.name assignment_expression.left",
    "tsx": "variable_declarator.name assignment_expression.left",
    "go": "var_spec.name",
    "c": "declaration.declarator",
    "cpp": "declaration.declarator",
}
"""The same, outside functions only: a function's own variables are no definitions, what it sets on an object is."""

_HANDS_ON = frozenset(
    (
        *("pattern_list.", "tuple_pattern.", "type.", "attribute.attribute", "member_expression.property"),
        *("variable_declarator.name", "pointer_declarator.declarator", "array_declarator.declarator"),
        *("function_declarator.declarator", "init_declarator.declarator", "parenthesized_declarator."),
        *("reference_declarator.", "attributed_declarator.", "qualified_identifier.name"),
        *(
            "nested_namespace_specifier.",
            "destructor_name.",
            "template_function.name",
            "template_method.name",
        ),
    )
)
"""node.field within a defining field that holds the identifier in its turn."""

_MEMBER = frozenset(("attribute.attribute", "member_expression.property"))
_FUNCTION_VALUES = frozenset(("arrow_function", "function_expression", "generator_function", "class"))
_FUNCTIONS = frozenset(
    (
        *("function_definition", "lambda", "function_declaration", "generator_function_declaration"),
        *("function_expression", "generator_function", "arrow_function", "method_definition"),
        *("method_declaration", "func_literal", "lambda_expression"),
    )
)
_WITH_BODY = frozenset(("struct_specifier", "union_specifier", "enum_specifier", "class_specifier"))

_LEAD = rb"(?<![\w.$\x80-\xff])"
_WORD = rb"([A-Za-z_$\x80-\xff][\w$\x80-\xff]*)"
_FALLBACK = linear.compile(
    _LEAD
    + rb"(?:def|class|function\s{0,9}\*?|func|fn|struct|enum|union|trait|interface|record|type|typedef|namespace|"
    rb"module|mod|macro_rules!|const|static|let|var|final|define|using|concept|typealias|mut|pub|async)\s{1,99}"
    + _WORD
)
_START = rb"(?<![\w$\x80-\xff])[0-9]*"  # else every letter of a long word would begin a search to its end
_CALLED = linear.compile(_START + _WORD + rb"\s{0,9}(?:\(|:\s{0,9}(?:async\b|function\b|\())")
_ASSIGNED = linear.compile(rb"(?m)^[ \t]{0,255}" + _WORD + rb"[ \t]{0,99}(?::[^=\n]{1,255})?=(?![=])")


def definitions(language: str, content: bytes) -> set[bytes]:
    """The names of functions, methods, classes, types, fields, constants and macros that a file defines.

    Names that never count (see `counts`) are left out; a name with `$` or other separators is given as the
    words that `words` reads. Empty for a language that is not read.

    Where the content does not parse without errors, what looks like a definition or a call counts too.
    """
    if language not in _DEFINES:
        return set()
    parsed = parse(language, content)
    names = {content[start:end] for start, end in _defined(parsed)}
    if parsed.errors:
        for pattern in (_FALLBACK, _CALLED, _ASSIGNED):
            names.update(match[1] for match in pattern.finditer(content))
    return {word for name in names for word in words(name) if counts(word)}


def _defined(parsed: Parsed) -> Iterator[tuple[int, int]]:
    """Byte ranges of the identifiers that a tree defines."""
    anywhere = frozenset(_DEFINES[parsed.grammar].split())
    outside = frozenset(_DEFINES_OUTSIDE.get(parsed.grammar, "").split())
    no, members_only, yes = 0, 1, 2
    # kind, defining, in a function, has body, is function
    above: list[tuple[str, int, bool, bool, bool]] = []
    for depth, field, node in visit(parsed):
        del above[depth:]
        kind = node.type
        parent, defining, local, complete, function = above[-1] if above else ("", no, False, True, False)
        place = f"{parent}.{field or ''}"
        here = no
        if place in anywhere:
            here = yes if complete else no
        elif place in outside:
            here = yes if function or not local else members_only
        elif defining and place in _HANDS_ON:
            here = yes if place in _MEMBER else defining
        elif place == "pair.key" and function:
            here = yes
        if here == yes and node.child_count == 0 and kind.endswith("identifier"):
            yield node.start_byte, node.end_byte
        above.append(
            (kind, here, local or kind in _FUNCTIONS, _has_body(node, kind), _is_function(node, kind))
        )


def _has_body(node: Node, kind: str) -> bool:
    """Whether a C type is defined here: `struct x *p` only mentions it. True for all else."""
    return kind not in _WITH_BODY or node.child_by_field_name("body") is not None


def _is_function(node: Node, kind: str) -> bool:
    """Whether the value of `name = …` or `name: …` in JavaScript is a function or a class."""
    if kind not in ("pair", "variable_declarator"):
        return False
    value = node.child_by_field_name("value")
    return value is not None and value.type in _FUNCTION_VALUES


def counts(word: bytes) -> bool:
    """Whether a word is long and telling enough to be searched for.

    >>> counts(b"main"), counts(b"toString"), counts(b"hedge_ratio")
    (False, False, True)
    """
    return (
        len(word) >= MIN_LENGTH and word not in UNIVERSAL and not word.isdigit() and word.strip(b"_") != b""
    )


@dataclass(frozen=True)
class Spread:
    """`files` → how many rare names each mentions; how many names were `rare`, how many too `common`."""

    files: dict[int, int]
    rare: int
    common: int


class Mentions:
    """In which files of the corpus the names occur: one pass over all files serves every secret.

    Args:
        sought: the definitions of all protected files of all secrets.
        at_most: no name that occurs in more files than this will count; bounds the memory too.
    """

    def __init__(self, sought: Iterable[bytes], at_most: int) -> None:
        self._sought = frozenset(sought)
        self._at_most = at_most
        self._files: dict[bytes, list[int]] = {}

    def read(self, file: int, content: bytes) -> None:
        """Take the words of one file; every file of the corpus is read once, protected ones too.

        Versions of one file may be read one after another under one number: they count as one file.
        """
        for word in self._sought & words(content):
            files = self._files.setdefault(word, [])
            if len(files) <= self._at_most and file not in files[-1:]:
                files.append(file)

    def spread(self, names: AbstractSet[bytes], tagged: AbstractSet[int], at_most: int) -> Spread:
        """The files outside `tagged` that mention a rare one of `names`.

        Args:
            names: what the tagged files define; must be in `sought`.
            at_most: rare is in at most so many files; must not exceed the one given at construction.
        """
        found: Counter[int] = Counter()
        common = 0
        for name in names:
            files = self._files.get(name, ())
            if len(files) > at_most:
                common += 1
            else:
                found.update(file for file in files if file not in tagged)
        return Spread(dict(sorted(found.items())), len(names) - common, common)


_LETTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_ASCII = bytes(b if b in _LETTERS else 32 for b in range(256))
_WIDE = bytes(b if b in _LETTERS or b >= 128 else 32 for b in range(256))


def words(content: bytes) -> set[bytes]:
    """The words of a content: runs of letters, digits and `_`; one linear pass.

    Every other byte separates, `$` too. Bytes from 128 on are read both ways, as letters and as separators:
    a name may hold them, and a typographic quotation mark may be next to it.

    >>> sorted(words(b"a1.b_2 $x"))
    [b'a1', b'b_2', b'x']
    """
    found = set(content.translate(_ASCII).split())
    if not content.isascii():
        found.update(content.translate(_WIDE).split())
    return found
