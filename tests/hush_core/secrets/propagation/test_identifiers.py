"""Definitions are found in every language, and a rare one is found again wherever it is mentioned."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from hush_core.secrets.propagation.identifiers import (
    MIN_LENGTH,
    UNIVERSAL,
    Mentions,
    counts,
    definitions,
    words,
)

CASES = {
    "python": (
        b"import outer_module\nCONSTANT_A = call_used(1)\nLEFT_A, RIGHT_A = 1, 2\n"
        b"class BookClass:\n    field_one: int = 3\n    def method_one(self, param_one):\n"
        b"        local_one = 1\n        self.attribute_one = local_one\n        def "
        b"inner_function(): pass\n",
        b"CONSTANT_A LEFT_A RIGHT_A BookClass field_one method_one attribute_one inner_function",
        b"outer_module call_used param_one local_one",
    ),
    "javascript": (
        b"const TOP_CONST = 5, arrowTop = () => { const localValue = 1; const localFunction = () => 2; };\n"
        b"function functionOne(paramOne) {}\nclass ClassOne { methodOne() {} fieldOne = 3 }\n"
        b"exports.exportedOne = usedOne;\nconst o = { keyFunction: () => 1, keyValue: 3 };\nexport "
        b"const exportedTwo = 1;",
        b"TOP_CONST arrowTop localFunction functionOne ClassOne methodOne fieldOne exportedOne "
        b"keyFunction exportedTwo",
        b"localValue paramOne usedOne keyValue",
    ),
    "typescript": (
        b"import { importedOne } from './x';\nexport interface IfaceOne { propertyOne: UsedType; "
        b"methodOne(): void }\n"
        b"type AliasOne = number;\nenum EnumOne { MemberOne, MemberTwo = 2 }\n"
        b"export class ClassOne { private fieldOne: string; }\nnamespace SpaceOne { export const "
        b"constOne = 1 }\n",
        b"IfaceOne propertyOne methodOne AliasOne EnumOne MemberOne MemberTwo ClassOne fieldOne "
        b"SpaceOne constOne",
        b"importedOne UsedType",
    ),
    "go": (
        b"package p\nconst ConstOne = UsedOne\nvar VariableOne, VariableTwo int\nvar (\n "
        b"VariableThree = 2\n)\n"
        b"type StructOne struct { FieldOne UsedTwo }\ntype IfaceOne interface { MethodOne() }\ntype "
        b"AliasOne = int\n"
        b"func (s *StructOne) ReceiverOne(paramOne int) { localOne := 1; var localTwo int }\nfunc "
        b"FuncOne() {}\n",
        b"ConstOne VariableOne VariableTwo VariableThree StructOne FieldOne IfaceOne MethodOne "
        b"AliasOne ReceiverOne FuncOne",
        b"UsedOne UsedTwo paramOne localOne localTwo",
    ),
    "java": (
        b"package p; import q.ImportedOne; public class ClassOne extends UsedOne { static final int "
        b"CONST_ONE = 1;\n"
        b"int fieldOne; void methodOne(int paramOne) { int localOne = 1; } enum EnumOne { MEMBER_ONE }\n"
        b"interface IfaceOne { int CONST_TWO = 2; } record RecordOne(int x) {} @interface NoteOne { "
        b"int elementOne(); } }",
        b"ClassOne CONST_ONE fieldOne methodOne EnumOne MEMBER_ONE IfaceOne CONST_TWO RecordOne "
        b"NoteOne elementOne",
        b"ImportedOne UsedOne paramOne localOne",
    ),
    "rust": (
        b"use other::ImportedOne; mod module_one { pub struct StructOne { pub field_one: UsedOne }\n"
        b"enum EnumOne { VariantOne } trait TraitOne { type AssocOne; fn signature_one(); } }\n"
        b"const CONST_ONE: u8 = 1; static STATIC_ONE: u8 = 2; macro_rules! macro_one { () => {} }\n"
        b"fn function_one(param_one: u8) { let local_one = 1; } type AliasOne = u8; impl X { fn "
        b"method_one() {} }",
        b"module_one StructOne field_one EnumOne VariantOne TraitOne AssocOne signature_one "
        b"CONST_ONE STATIC_ONE"
        b" macro_one function_one AliasOne method_one",
        b"ImportedOne UsedOne param_one local_one",
    ),
    "c": (
        b"#define MACRO_ONE 1\n#define MACRO_TWO(x) x\nstruct struct_one { int field_one; char "
        b"*field_two; int (*field_fp)(int); };\n"
        b"struct used_one *global_pointer;\ntypedef struct { int abcde; } typedef_one;\ntypedef int "
        b"(*callback_one)(int);\n"
        b"enum enum_one { ENUM_ONE, ENUM_TWO };\nint global_one = 1, *global_two, global_three[3];\n"
        b"static int function_one(int param_one) { int local_one = 1; return local_one; }\nint "
        b"*proto_one(struct used_two *x);\n",
        b"MACRO_ONE MACRO_TWO struct_one field_one field_two field_fp global_pointer typedef_one "
        b"callback_one abcde enum_one"
        b" ENUM_ONE ENUM_TWO global_one global_two global_three function_one proto_one",
        b"used_one used_two param_one local_one",
    ),
    "cpp": (
        b"namespace space_one { template<class T> class ClassOne { int field_one; void method_one();\n"
        b" virtual int inline_one() { int local_one = used_one; return 1; } };\nusing alias_one = "
        b"int; constexpr int const_one = 3; }\n"
        b"void space_one::ClassOne::outside_one() {}\nenum class EnumOne { VALUE_ONE };\n",
        b"space_one ClassOne field_one method_one inline_one alias_one const_one outside_one "
        b"EnumOne VALUE_ONE",
        b"local_one used_one",
    ),
}


@pytest.mark.parametrize("language", sorted(CASES))
def test_what_is_defined_and_nothing_that_is_only_used(language):
    content, defined, used = CASES[language]
    found = definitions(language, content)
    assert found == set(defined.split())
    assert all(name in content and name not in found for name in used.split())


@pytest.mark.parametrize("language", sorted(CASES))
def test_syntax_errors_lose_no_definition(language):
    content, defined, _ = CASES[language]
    functions = {n for n in defined.split() if b"unction" in n or b"FuncOne" in n or b"ClassOne" in n}
    broken = b"))) ]] }} <<<<<<< HEAD\n" + content
    assert functions <= definitions(language, broken)
    deep = b"(" * 3000 + b"\n" + content
    assert functions <= definitions(language, deep)


def test_short_and_universal_names_never_count():
    assert (
        definitions(
            "python",
            b"def main(): pass\ndef setup(): pass\ndef abcd(): pass\nclass A:\n def __init__(self): pass\n",
        )
        == set()
    )
    assert not any(counts(name) for name in UNIVERSAL)
    assert (
        not counts(b"a" * (MIN_LENGTH - 1))
        and counts(b"q" * MIN_LENGTH)
        and not counts(b"12345")
        and not counts(b"_____")
    )


def test_another_language_defines_nothing():
    assert definitions("markdown", b"def hedge_ratio(): pass") == set()


def test_a_rare_definition_is_found_in_every_file_that_mentions_it():
    corpus = [
        b"def hedge_ratio(): pass\ndef common_name(): pass\n",
        b"# see hedge_ratio\n",
        b"x = a.hedge_ratio(1)\n",
        b"hedge_ratio2 my_hedge_ratio\n",
        "say “hedge_ratio” twice".encode(),
        b'{"hedge_ratio": 1}',
        b"$hedge_ratio",
    ] + [b"common_name"] * 10
    names = definitions("python", corpus[0])
    mentions = Mentions(names, at_most=6)
    for file, content in enumerate(corpus):
        mentions.read(file, content)
    spread = mentions.spread(names, {0}, at_most=6)
    assert (spread.files, spread.rare, spread.common) == ({1: 1, 2: 1, 4: 1, 5: 1, 6: 1}, 1, 1)
    assert mentions.spread(names, {0}, at_most=5).files == {}  # it stands in six, the tagged one among them


def test_one_pass_serves_several_secrets():
    corpus = [b"first_name", b"second_name", b"first_name second_name", b"second_name"]
    mentions = Mentions({b"first_name", b"second_name"}, at_most=5)
    for file, content in enumerate(corpus):
        mentions.read(file, content)
    assert mentions.spread({b"first_name"}, {0}, 5).files == {2: 1}
    assert mentions.spread({b"second_name"}, {1, 2}, 5).files == {3: 1}
    assert mentions.spread({b"first_name", b"second_name"}, {0, 1}, 5).files == {2: 2, 3: 1}


def test_names_with_a_dollar_or_wide_letters_are_found_again():
    for language, content in (
        ("javascript", b"function price$model_x() {}"),
        ("python", "def größe_mit_rabatt(): pass".encode()),
    ):
        names = definitions(language, content)
        assert names
        mentions = Mentions(names, 9)
        mentions.read(0, content)
        mentions.read(1, b"call(" + content.split()[1].split(b"(")[0] + b")")
        assert set(mentions.spread(names, {0}, 9).files) == {1}


@settings(derandomize=True, deadline=None, max_examples=examples(80))
@given(
    st.lists(
        st.lists(st.sampled_from([b"alpha_x", b"bravo_x", b"charlie", b"delta_x"]), max_size=4),
        min_size=1,
        max_size=8,
    ),
    st.integers(1, 5),
)
def test_mentions_agree_with_counting_by_hand(files, at_most):
    names = {b"alpha_x", b"bravo_x", b"charlie"}
    mentions = Mentions(names, 5)
    for file, content in enumerate(files):
        mentions.read(file, b"; ".join(content))
    expected: dict[int, int] = {}
    for name in names:
        where = [n for n, content in enumerate(files) if name in content]
        if len(where) <= at_most:
            for n in where:
                if n != 0:
                    expected[n] = expected.get(n, 0) + 1
    assert mentions.spread(names, {0}, at_most).files == expected


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(st.binary(max_size=200), st.sampled_from(sorted(CASES)))
def test_any_bytes_are_read(content, language):
    assert all(counts(name) for name in definitions(language, content))
    assert b"" not in words(content)
