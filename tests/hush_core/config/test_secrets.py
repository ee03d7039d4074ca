"""What each kind of secret says of itself, and so what reports, history and the plan take it for."""

from hush_core.config import SecretEntry, UnitSecret
from hush_core.config.secrets import ENTRIES, entry_of


def test_each_kind_says_what_reports_call_it_and_what_of_the_text_is_secret():
    said = [vars(entry)["says"] for entry in ENTRIES.values()]
    assert len(set(said)) == len(said) == 9
    assert {
        fact: {kind for kind, entry in ENTRIES.items() if getattr(entry, fact)} for fact in FACTS
    } == FACTS
    assert entry_of("unit") is UnitSecret and entry_of("of_a_package_that_is_gone") is SecretEntry


FACTS = {
    "are_values": {"credentials", "literals", "patterns", "rare_words"},
    "one_secret": {"path", "codeowners", "contributors", "removed"},
    "whole_files": {"path", "codeowners"},
}
