"""Every bad config is told before anything starts: one line that names file, line or key, and the hint.

The check runs in this process, on a real repository, real tables and a real model folder; a good config of the
same parts passes it (so that no case is refused for another reason). Six go through the command line itself.
"""

import json
import os
import re
import string
from functools import cache
from pathlib import Path

import pytest
import warm
from bad_inputs import CANARY, GOOD, TABLES, at, files_of, git, write
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from flows.check import check_config
from flows.explain import explain
from hush_core.config import Changes
from hush_core.errors import InputError

ROOT = Path(__file__).parents[2]
HUGGING = {**GOOD, "model": {"kind": "huggingface", "name": "model"}}
INF, NAN, HUGE = float("inf"), float("nan"), 10**30


def documented(*values):
    """GOOD with values that are documentation: each a whole one with these keys replaced (None: without)."""
    whole = {"fingerprint": "0123456789ab", "paths": ["trading/**"], "why": "an example"}
    given = [
        {k: v for k, v in (whole | value).items() if v is not None} if isinstance(value, dict) else value
        for value in values
    ]
    return at(secrets__creds__documentation=given if isinstance(values[0], dict) else values[0])


def dp_sgd(**keys):
    return at(mechanism={"kind": "dp_sgd", **keys})


def nightly(**keys):
    """GOOD with a promise of a run each night of a year, with these keys replaced."""
    return at(promise={"since": "2027-01-01", "until": "2027-12-31", "cron": "0 2 * * *", **keys})


NUMBERS = {
    "train__clip_norm": (0, -1e9, 1e300, 1e-300), "train__learning_rate": (0, -1, 1e30, 1e-300),
    "pretrain__learning_rate": (0, -1, 1e30), "prior_cap_bits": (0, 100, 1e300), "weights__c": (0, 1.5, 1e-200),
    "levels__high": (0, 1, -1), "secrets__names__bits": (0, -3, 1e300),
    "train__rounds": (0, -1, HUGE, 1.5), "train__batch": (0, -1, HUGE), "train__micro_batch": (0, HUGE),
    "train__processes": (0, 1 << 40), "train__checkpoint_every": (0, HUGE), "pretrain__steps": (-1, HUGE),
    "pretrain__batch": (0, HUGE), "chunk_bytes": (0, 1 << 20), "max_file_bytes": (0, HUGE),
    "model__layers": (0, HUGE), "model__width": (0, HUGE, 1 << 20), "model__heads": (0, HUGE),
    "audit__alternatives": (0, HUGE), "train__warmup_rounds": (-1, 10, HUGE),
}  # fmt: skip
"""Each number of the file, with values outside its range. None may be infinite, a truth value or a text either."""
NO_NUMBERS = (INF, NAN, True, "many")


def numbers():
    """Of each number two mistakes for the page; `test_no_number_takes_a_wrong_value` has all."""
    for place, (key, wrong) in enumerate(NUMBERS.items()):
        for value in (wrong[0], (*NO_NUMBERS, wrong[-1])[place % 5]):
            yield f"{key} {str(value)[:12]}", at(**{key: value}), named(key)


def named(key):
    return key.split("__")[-1].replace("names", "bits")


CASES = {name: (data, says) for name, data, says in numbers()}
CASES |= {
    # what is not YAML, or not a config
    "empty file": ("", "not a mapping"),
    "a list": ("- 1\n", "not a mapping"),
    "a word": (CANARY, "not a mapping"),
    "an open bracket": ("version: [1\n", ":2"),
    "a tab": ("version: 1\n\tlevels: 2\n", ":2"),
    "a key twice": ("version: 1\nversion: 1\n", ":2: key 'version' is given twice"),
    "a list as key": ("? [1, 2]\n: 3\n", ":1"),
    "a mapping as key": ("? {a: 1}\n: 3\n", ":1"),
    "a number as key": ("version: 1\nlevels: {1: 0.5}\n", ":2"),
    "a truth value as key": ("version: 1\non: 1\n", ":2"),
    "deep lists": ("version: " + "[" * 1500 + "]" * 1500, "nests too deep"),
    "deep mappings": ("levels: " + "{a: " * 300 + "1" + "}" * 300, "nests too deep"),
    "rather deep": ("levels: " + "{a: " * 30 + "1" + "}" * 30, "nests too deep"),
    "a list in itself": ("version: &a [*a]\n", "recursive"),
    "a billion laughs": (
        "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
        + "".join(f"{b}: &{b} [{f'*{a}, ' * 10}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
        "values",
    ),
    "10,000 digits": ("version: 1\ntrain: {rounds: " + "9" * 10_000 + ", batch: 1}\n", ":2"),
    "rounds of 1e400": (
        "version: 1\nrepos: [{path: x}]\nsecrets: [{id: a, kind: credentials, level: 0.1}]\n"
        "train: {rounds: 1e400, batch: 1}\n", "rounds",
    ),
    "no such day": ("version: 2024-13-45\n", ":1"),
    "a tag of Python's": ("version: !!python/object/apply:os.system [ls]\n", ":1"),
    "a merge": ("a: &a {b: 1}\nversion: {<<: *a}\n", ":2"),
    "an unknown alias": ("version: *nothing\n", ":1"),
    "a control character": ("version: 1\nlevels: \x07\n", ":2"),
    "two documents": ("version: 1\n---\nversion: 1\n", ":2"),
    "not UTF-8": (b"version: \xff\xfe", "UTF-8"),
    "too long": ("# " + "x" * (1 << 21), "longer than"),
    # keys
    "no version": (at(version=None), "missing key version"),
    "another version": (at(version=2), "version"),
    "an unknown key": (at(rouns=3), "unknown key rouns"),
    "an unknown key inside": (at(train__round=3), "unknown key train.round"),
    "train is a word": (at(train=CANARY), "train"),
    "model is a word": (at(model=CANARY), "model"),
    "model is a list": (at(model=[1]), "model"),
    "model of another kind": (at(model={"kind": CANARY}), "model.kind"),
    "secrets is a mapping": (at(secrets={"id": "a"}), "secrets"),
    "secrets is a word": (at(secrets=CANARY), "secrets"),
    "no secrets": (at(secrets=[]), "secrets"),
    "a secret is a word": (at(secrets=[CANARY]), "secrets.1: Input should be a valid mapping"),
    "a secret is nothing": (at(secrets=[[]]), "secrets.1"),
    "a kind is a list": (at(secrets__alpha__kind=["path"]), "kind"),
    "an entry without a kind": (at(secrets__alpha__kind=None), "missing key secrets.alpha.kind"),
    "an unknown kind": (at(secrets__alpha__kind=CANARY), "secrets.alpha.kind: unknown kind"),
    "an unknown kind of a bad id": (at(secrets=[{"id": f"{CANARY} x", "kind": "odd"}]), "secrets.1.kind: unknown"),
    "two of one id": (at(secrets=[GOOD["secrets"][0]] * 2), "two secrets"),
    "files to be redacted": (at(secrets__alpha__protect="redact"), "are no values"),
    "another way to protect": (at(secrets__alpha__protect=CANARY), "protect"),
    "an id with blanks": (at(secrets__alpha__id="a b"), "id"),
    "a long id": (at(secrets__alpha__id="a" * 100), "id"),
    "no such level": (at(secrets__alpha__level="huge"), "no such level"),
    "a level where there are none": (
        at(TABLES, secrets__people__level="huge"), "there are none: add levels: {huge: 1.0e-4}"
    ),
    "a level of 2": (at(secrets__alpha__level=2), "level"),
    "a level that is true": (at(secrets__alpha__level=True), "level"),
    "a level below the prior": (at(secrets__alpha__bits=3), "not above the prior"),
    "a tiny level": (at(secrets__alpha__level=1e-200), "level"),
    "literals without bits": (at(secrets__names__bits=None), "bits"),
    "no globs": (at(secrets__alpha__globs=[]), "globs"),
    "globs left out": (at(secrets__alpha__globs=None), "missing key secrets.alpha.globs"),
    "globs is a word": (at(secrets__alpha__globs="trading/**"), "globs: Input should be a valid list"),
    "an empty glob": (at(secrets__alpha__globs=[""]), "globs"),
    "a blank team": (at(secrets__owners__teams=[" "]), "teams"),
    "rare words without bits": (at(secrets__words__bits=None), "bits"),
    "patterns without bits": (at(secrets__ids__bits=None), "bits"),
    "a frequency of 0": (at(secrets__words__document_frequency=[0, 2]), "document_frequency"),
    "frequencies the wrong way": (at(secrets__words__document_frequency=[5, 2]), "document_frequency"),
    "one frequency": (at(secrets__words__document_frequency=[5]), "document_frequency"),
    "spread without end": (at(secrets__alpha__spread={"imports": INF}), "imports"),
    "spread below 0": (at(secrets__alpha__spread={"imports": -1}), "imports"),
    "values that spread": (at(secrets__creds__spread={"imports": 1}), "spread"),
    "spread true": (at(secrets__alpha__spread={"imports": True}), "imports"),
    "width and heads": (at(model__heads=3), "multiple of model.heads"),
    "no heads": (at(model__heads=64), "multiple"),
    "noise without equalised": (at(weights__noise_multiplier=1), "equalised"),
    "infinite noise": (at(weights={"noise_multiplier": INF, "capacities": "equalised"}), "noise_multiplier"),
    "tiny noise": (at(weights={"noise_multiplier": 1e-9, "capacities": "equalised"}), "noise_multiplier"),
    "no noise": (at(weights={"noise_multiplier": 0, "capacities": "equalised"}), "noise_multiplier"),
    "c and noise": (at(weights={"noise_multiplier": 1, "c": 1, "capacities": "equalised"}), "both given"),
    "one rate in a list": (at(train__learning_rate=[0.1]), "learning_rate"),
    "a true rate in a list": (at(train__learning_rate=[0.1, True]), "learning_rate"),
    "an infinite rate in a list": (at(train__learning_rate=[0.1, INF]), "learning_rate"),
    "rates without public text": (at(public=None, train__learning_rate=[0.1, 0.2]), "public text"),
    "a curve without public text": (
        at(public=None, train__evaluate_every=2, secrets__alpha__protect="noise"), "public text",
    ),
    "a curve beyond the end": (at(train__evaluate_every=11), "evaluate_every"),
    "stopping without a curve": (at(train__early_stopping={}), "evaluate_every"),
    "patience without end": (at(train__evaluate_every=1, train__early_stopping={"patience": INF}), "patience"),
    "an infinite improvement": (at(train__evaluate_every=1, train__early_stopping={"min_delta": INF}), "min_delta"),
    "another optimizer": (at(train__optimizer="adam"), "optimizer"),
    "another precision": (at(train__precision="fp16"), "precision"),
    "another method": (at(method="magic"), "method"),
    "no experiment": (at(tracking={"experiment": " "}), "experiment"),
    "a model with a slash": (at(tracking={"model": "a/b"}), "tracking.model"),
    "unprotected by number": (at(audit={"unprotected": 7}), "unprotected"),
    "no sources": (at(repos=[]), "no source"),
    "a number in quotation marks": (at(train__rounds="3"), "train.rounds: is text"),
    "a number of a list in quotation marks": (at(train__learning_rate=["a", 0.1]), "learning_rate.1: is text"),
    "a level in quotation marks": (at(levels__high="0.1x"), "levels.high: is text"),
    "yes in quotation marks": (at(audit={"unprotected": "yes "}), "audit.unprotected: is text"),
    "an entry that may be empty, in words": (at(secrets__alpha__may_be_empty="maybe"), "may_be_empty: is text"),
    "a schedule of the 99th hour": (nightly(cron="99 99 * * *"), "cron is not a schedule"),
    "a hundred thousand layers": (at(model={"layers": 100_000, "width": 32, "heads": 2}), "layers"),
    # what cannot be on this machine
    "a NUL in a path": (at(repos__0__path="a\0b"), "repos.1.path"),
    "half a character": ('version: 1\nrepos: [{path: "\\ud800"}]\n', "repos.1.path"),
    "nobody's home": (at(repos__0__path="~nobody-at-all/x"), "repos.1.path"),
    "nobody's file": (at(secrets__names__file="~nobody-at-all/x"), "secrets.names.file"),
    "a name of 300 letters": (at(repos__0__path="x" * 300), "repos.1.path"),
    "a path of 9000 letters": (at(repos__0__path="x/" * 4500), "repos.1.path"),
    "a loop of links": (at(repos__0__path="loop"), "repos.1.path"),
    "a model at nobody's": (at(HUGGING, model__name="~nobody-at-all/m"), "model.name"),
    "a NUL in a model": (at(HUGGING, model__name="a\0b"), "model.name"),
    "a model too large for the machine": (at(model={"layers": 1024, "width": 65536, "heads": 1024}), "GiB"),
    "no such model": (at(HUGGING, model__name="./nowhere"), "model.name"),
    "an empty model folder": (at(HUGGING, model__name="empty"), "safetensors"),
    "a pickled model": (at(HUGGING, model__name="pickled"), "pickled"),
    "a model without config": (at(HUGGING, model__name="unsaid"), "config.json"),
    "a model without tokenizer": (at(HUGGING, model__name="mute"), "tokenizer"),
    "a model cut short": (at(HUGGING, model__name="cut"), "cut short"),
    "a model that is a pointer": (at(HUGGING, model__name="pointer"), "safetensors"),
    "a model with a part missing": (at(HUGGING, model__name="parts"), "lacks"),
    "adapters of no layer": (at(HUGGING, model__lora={"targets": []}), "targets"),
    "adapters of rank infinity": (at(HUGGING, model__lora={"rank": INF}), "rank"),
    # sources
    "no such repository": (at(repos__0__path="nowhere"), "job.yaml: repos.1: "),
    "a file for a repository": (at(repos__0__path="names.txt"), "job.yaml: repos.1: "),
    "a folder for a repository": (at(repos__0__path="empty"), "job.yaml: repos.1: "),
    "no such revision": (at(repos__0__rev="no-such"), "job.yaml: repos.1: "),
    "an expression for a revision": (at(repos__0__rev="main~2"), "rev"),
    "a number for a revision": (at(repos__0__rev=7), "rev"),
    "two of one name": (at(repos=[{"path": "repository"}] * 2), "called"),
    "a shallow clone": (at(repos__0__path="shallow"), "shallow"),
    "globs that match nothing": (at(secrets__alpha__globs=["nothing/here/**"]), "job.yaml: secrets.alpha.globs: "),
    "globs that take all back": (at(secrets__alpha__globs=["trading/**", "!trading/**"]), "secrets.alpha.globs"),
    "a glob that is none": (at(secrets__alpha__globs=["# all"]), "secrets.alpha.globs"),
    "public that matches nothing": (at(public=["vendored/**"]), "job.yaml: public: match no"),
    "a bad glob of removed": (at(secrets=[{"id": "r", "kind": "removed", "paths": ["#"], "level": 0.1}]), "paths"),
    "a team that owns nothing": (at(secrets__owners__teams=["@acme/riks"]), "CODEOWNERS"),
    # files of secrets
    "no such literals": (at(secrets__names__file="nowhere.txt"), "job.yaml: secrets.names.file: "),
    "a folder of literals": (at(secrets__names__file="empty"), "empty"),
    "a short literal": (at(secrets__names__file="short.txt"), "short.txt:2"),
    "binary literals": (at(secrets__names__file="binary.txt"), "UTF-8"),
    "no literal": (at(secrets__names__file="blank.txt"), "job.yaml: secrets.names.file: "),
    "a pattern that does not compile": (at(secrets__ids__file="broken.txt"), "broken.txt:1"),
    "a pattern of two groups": (at(secrets__ids__file="groups.txt"), "groups.txt:1"),
    "a pattern that matches nothing": (at(secrets__ids__file="nothing.txt"), "empty string"),
    "a look-around": (at(secrets__ids__file="around.txt"), "RE2"),
    "no pattern": (at(secrets__ids__file="blank.txt"), "job.yaml: secrets.ids.file: "),
    # tables
    "no such table": (at(TABLES, tables__0__path="nowhere.csv"), "not a file"),
    "no such column": (at(TABLES, tables__0__text="body"), "no column 'body'; there are: text"),
    "no such column of several": (at(TABLES, tables__0__text=["text", "body"]), "no column"),
    "no such unit": (at(TABLES, tables__0__unit="author"), "no column"),
    "no such id": (at(TABLES, tables__0__id="number"), "no column"),
    "a column twice": (at(TABLES, tables__0__text=["text", "text"]), "twice"),
    "the text as id": (at(TABLES, tables__0__id="text"), "column of text"),
    "no unit at all": (at(TABLES, tables__0__unit=None), "protects units"),
    "units of another table": (at(TABLES, secrets__people__table="other"), "no such table"),
    "units without a table": (at(secrets=[{"id": "u", "kind": "unit", "level": 0.1}]), "no such table"),
    "contributors of a table": (
        at(TABLES, secrets=[{"id": "c", "kind": "contributors", "emails": ["*"], "level": 0.1}]), "history"
    ),
    "no JSON": (at(TABLES, tables__0__path="bad.jsonl"), "line 1"),
    "no parquet": (at(TABLES, tables__0__path="bad.parquet"), "parquet"),
    "a parquet of numbers": (at(TABLES, tables__0__path="numbers.parquet"), "type"),
    "no known format": (at(TABLES, tables__0__path="names.txt"), "format"),
    "a ragged table": (at(TABLES, tables__0__path="ragged.csv"), "line 2"),
    "a table of a repository's name": (
        at(tables=[{"path": "rows.csv", "name": "repository"}]), "two of them are called 'repository'"
    ),
    "two tables of one name": (at(TABLES, tables=[{"path": "rows.csv", "unit": "who"}] * 2), "called"),
    "a column that is a number": (at(TABLES, tables__0__unit=3), "unit"),
    "a column without a name": (at(TABLES, tables__0__unit=""), "unit"),
    # values that are documentation
    "not_secrets that are no digits": (at(secrets__creds__not_secrets=[CANARY]), "not_secrets"),
    "documentation is a word": (documented(CANARY), "documentation"),
    "a value in place of its fingerprint": (documented({"fingerprint": CANARY}), "fingerprint"),
    "documentation of no files": (documented({"paths": []}), "paths"),
    "documentation with a bad glob": (documented({"paths": ["#"]}), "documentation.1.paths"),
    "documentation of no known source": (documented({"source": "manual"}), "documentation.1.source"),
    "documentation without a reason": (documented({"why": None}), "why"),
    "documentation twice": (documented({}, {}), "twice"),
    "documentation that is redacted": (
        at(documented({}), secrets__creds__protect="redact"), "do not go together"
    ),
    # ways of finding
    "another mode": (at(repos__0__mode="all"), "mode"),
    "weak ones to be kept": (at(secrets__creds__weak="keep"), "weak"),
    "no people": (at(secrets__people__emails=[]), "emails"),
    "another attribution": (at(secrets__people__attribute="line"), "attribute"),
    "blame of a history": (at(repos__0__mode="history", secrets__people__attribute="blame"), "attribute"),
    # mechanisms
    "mechanism is a word": (at(mechanism=CANARY), "mechanism"),
    "an unknown mechanism": (at(mechanism={"kind": CANARY}), "mechanism.kind"),
    "epsilon 0": (dp_sgd(epsilon=0, delta=1e-6), "mechanism.epsilon"),
    "an infinite epsilon": (dp_sgd(epsilon=INF, delta=1e-6), "mechanism.epsilon"),
    "epsilon without delta": (dp_sgd(epsilon=1), "epsilon and delta go together"),
    "a delta of 1": (dp_sgd(epsilon=1, delta=1), "mechanism.delta"),
    "weights of a mechanism without": (
        at(dp_sgd(), weights={"c": 0.3}), "weights.c: mechanism dp_sgd solves no program"
    ),
    "an objective of a mechanism without": (at(dp_sgd(), weights={"objective": "weight"}), "weights.objective"),
    "no records": (at(mechanism={"kind": "user_wise", "records": 0}), "mechanism.records"),
    "records that are true": (at(mechanism={"kind": "group_privacy", "records": True}), "records"),
    "a key of another mechanism": (dp_sgd(records=2), "unknown key mechanism.records"),
    "chunks of a conversation": (
        at(TABLES, mechanism={"kind": "user_wise", "select": "chunks"}, tables__0__path="talk.jsonl",
           tables__0__messages="talk", tables__0__loss_on="completions"), "mechanism.select: chunks cuts",
    ),
    "another selection": (at(mechanism={"kind": "group_privacy", "select": CANARY}), "mechanism.select"),
    "no bands": (at(mechanism={"kind": "correlated", "bands": 0}), "mechanism.bands"),
    "too many bands": (at(mechanism={"kind": "correlated", "bands": 65}), "mechanism.bands"),
    "a mechanism without noise that wants noise": (
        at(mechanism={"kind": "redaction"}, weights={"without_secret": "noise"}), "makes no noise"
    ),
    "a promise of a cycle": (
        at(mechanism={"kind": "correlated"}, promise={"runs": 3}),
        "take one of hush, dp_sgd, group_privacy, user_wise",
    ),
    "a promise without noise": (at(mechanism={"kind": "dropping"}, promise={"runs": 3}), "mechanism dropping"),
    "a promise by epsilon": (at(dp_sgd(epsilon=1, delta=1e-6), promise={"runs": 3}), "mechanism.epsilon"),
    "another objective": (at(weights={"objective": CANARY}), "weights.objective"),
    "text without a secret, otherwise": (at(weights={"without_secret": CANARY}), "weights.without_secret"),
    # promises
    "a promise of no runs": (at(promise={"runs": 0}), "promise.runs"),
    "a promise that ends first": (nightly(until="2026-12-31"), "starts no run from"),
    "a day that is none": (nightly(since="2027-02-30"), "since"),
    "a schedule without its days": (at(promise={"cron": "0 2 * * *"}), "since is missing"),
    "a time zone without a schedule": (at(promise={"timezone": "UTC"}), "since is missing"),
    "a time zone that is none": (nightly(timezone="Mars/Olympus"), "timezone is not a known time zone"),
    "a last day in words": (nightly(until="soon"), "until is no day"),
    "a schedule of four fields": (nightly(cron="0 2 * *"), "five fields"),
    "a schedule of every minute": (nightly(cron="* * * * *"), "more than 100,000 runs"),
    "a schedule of days of two sorts": (nightly(cron="0 2 */2 * 1"), "read differently"),
    "another number of runs than the schedule has": (nightly(runs=7), "runs is not the 365 of the schedule"),
    "a champion without a promise": (at(train__start="champion", train__later_rounds=3), "promise"),
    "a champion without later rounds": (at(train__start="champion", promise={"runs": 3}), "go together"),
    "a champion and redaction": (
        at(train__start="champion", train__later_rounds=3, promise={"runs": 3}, secrets__creds__protect="redact"),
        "secrets.creds: protect: redact",
    ),
    "later rounds without a champion": (at(train__later_rounds=3, promise={"runs": 3}), "go together"),
    # how it is trained
    "another schedule": (at(train__schedule="step"), "schedule"),
    "another average": (at(train__average="mean"), "train.average"),
    "a decay of 1": (at(train__average_decay=1), "average_decay"),
    "frozen layers of no kind": (at(train__freeze=["head"]), "freeze"),
    "untagged text where all is noised": (
        at(train__untagged_batch=4, secrets__alpha__protect="noise"), "untagged_batch",
    ),
    "gradients scaled where all is noised": (
        at(train__optimizer="preconditioned", secrets__alpha__protect="noise"), "optimizer",
    ),
    "the best without a curve": (at(train__keep="best"), "keep"),
    "fewer untagged steps than between two looks": (
        at(untagged={"steps": 10, "evaluate_every": 20}), "evaluate_every is above steps"
    ),
    "untagged is a word": (at(untagged=CANARY), "untagged"),
    "no untagged steps": (at(untagged={"steps": 0}), "untagged.steps"),
    "no patience": (at(untagged={"patience": 0}), "untagged.patience"),
    "a model that reads nothing": (at(HUGGING, model__context=1), "context"),
    "another way of learning": (at(HUGGING, model__objective=CANARY), "model.objective"),
    "DoRA in words": (at(HUGGING, model__lora={"use_dora": "yes"}), "use_dora"),
    "held back in words": (at(audit={"held_back": "some"}), "held_back"),
    # conversations
    "no such messages": (at(TABLES, tables__0__path="talk.jsonl", tables__0__messages="turns"), "no column"),
    "messages of a CSV": (at(TABLES, tables__0__messages="text"), "messages"),
    "messages beside a text": (at(TABLES, tables__0__messages="talk", tables__0__text="text"), "both say where"),
    "messages beside a prompt": (
        at(TABLES, tables__0__messages="talk", tables__0__prompt="text", tables__0__completion="who"),
        "both say where",
    ),
    "loss on something else": (at(TABLES, tables__0__messages="talk", tables__0__loss_on="answers"), "loss_on"),
    "a prompt alone": (at(TABLES, tables__0__prompt="text"), "go together"),
    "a completion alone": (at(TABLES, tables__0__completion="text"), "completion"),
    "a template for no conversation": (at(TABLES, tables__0__chat_template="plain"), "renders `messages`"),
    "completions of plain text": (at(TABLES, tables__0__loss_on="completions"), "what is one"),
    "a template that is not there": (
        at(TABLES, tables__0__path="talk.jsonl", tables__0__messages="talk", tables__0__chat_template="no.jinja"),
        "chat_template",
    ),
    "a template that cannot be read": (
        at(TABLES, tables__0__path="talk.jsonl", tables__0__messages="talk", tables__0__chat_template="bad.jinja"),
        "chat_template",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return files_of(tmp_path_factory)


@pytest.mark.parametrize("good", [GOOD, TABLES, HUGGING, at(train__learning_rate=[0.1, 0.2])])
def test_a_good_config_passes(folder, good):
    assert check_config(write(folder, good, "good.yaml")).train.rounds == 10


WRONG = st.sampled_from(sorted(NUMBERS)).flatmap(
    lambda key: st.tuples(
        st.just(key),
        st.sampled_from((*NUMBERS[key], *NO_NUMBERS)) | st.text(string.ascii_letters, min_size=1),
    )
)


@settings(max_examples=examples(300), deadline=None, derandomize=True)
@given(WRONG)
def test_no_number_takes_a_wrong_value(folder, wrong):
    key, value = wrong
    with pytest.raises(InputError, match=named(key)) as caught:
        check_config(write(folder, at(**{key: value})))
    assert "\n" not in str(caught.value) and "Hint: " in str(caught.value)


@pytest.fixture(scope="module")
def refused(folder):
    """Case → its line; each config is tried once."""

    @cache
    def line(case):
        with pytest.raises(InputError) as caught:
            check_config(write(folder, CASES[case][0]))
        return str(caught.value)

    return line


@pytest.mark.parametrize("case", CASES)
def test_a_bad_config_is_one_line_that_names_where_and_the_mend(refused, case):
    says, told = CASES[case][1], refused(case)
    assert says in told and "Hint: " in told
    assert "\n" not in told and len(told) < 1000 and told.isprintable()
    assert CANARY not in told and "job.yaml" in told
    assert explain([told]), "flows/refusals.toml has no entry"


def test_a_folder_without_a_config_is_named_by_itself(tmp_path):
    git(tmp_path, "init", "-q")
    with pytest.raises(InputError, match=rf"\A{re.escape(str(tmp_path))}: has no commit yet"):
        check_config(tmp_path, command="secrets")


SEVERAL = at(
    chunk_bytes="128", reps=[], train__round=3, train__batch=-1, train__learning_rate=CANARY, weights={"c": 7},
    secrets__names__fil=CANARY, secrets__names__file=None, secrets__creds__kind="credential",
    secrets__words__document_frequency=["a", -2], secrets__alpha__spread={"import": 0}, repos__0__mod="history",
)  # fmt: skip


def test_of_several_mistakes_each_is_one_line_and_a_number_of_the_wrong_type_hides_no_other(folder):
    with pytest.raises(InputError) as caught:
        check_config(write(folder, SEVERAL, "several.yaml"))
    every = [InputError(*caught.value.args).lines[0], *map(str, caught.value.others)]
    keys = {
        "repos.1.mod": "did you mean `mode`?", "secrets.alpha.spread.import": "did you mean `imports`?",
        "secrets.names.fil": "did you mean `file`?", "train.round": "did you mean `rounds`?", "reps": "`repos`?",
        "chunk_bytes": "without quotation marks", "secrets.creds.kind": "did you mean `credentials`?",
        "secrets.words.document_frequency.1": "quotation", "secrets.words.document_frequency.2": "greater",
        "train.batch": "greater", "train.learning_rate": "without quotation marks", "weights.c": "less",
    }  # fmt: skip
    assert len(every) == len(keys) and CANARY not in "".join(every)
    for key, says in keys.items():
        (line,) = [
            one for one in every if re.search(rf"several\.yaml: (unknown key )?{re.escape(key)}[:.]", one)
        ]
        assert says in line and "Hint: " in line
    lines = str(caught.value).splitlines()
    assert lines[:10] == every[:10] and lines[10:] == [
        f"{caught.value.where}: 2 more. Hint: correct these first"
    ]
    assert all("unknown key" in line for line in lines[:5]), "a misspelt key is the cause of other mistakes"


def test_all_keys_that_exclude_each_other_are_reported_at_once(folder):
    """Those of each section together, then those between sections."""
    of_sections = at(
        weights={"c": 0.5, "noise_multiplier": 2.0},
        train={"rounds": 4, "batch": 2, "warmup_rounds": 4, "keep": "best", "later_rounds": 2},
    )
    between = at(
        levels=None, secrets__alpha__level="high", mechanism={"kind": "dp_sgd"},
        weights={"c": 0.5, "objective": "distinct"}, train={"rounds": 4, "batch": 2, "untagged_batch": 3},
    )  # fmt: skip
    looks = {"rounds": 10, "batch": 4, "keep": "best", "evaluate_every": 5}
    private = at(public=None, pretrain=None, train=looks, weights={"without_secret": "noise"})
    for data, said in (
        (private, ["train.evaluate_every: looks at public text", "train.keep: best: looks at public text"]),
        (of_sections, ["weights: noise_multiplier needs", "weights: c and noise", "train: start: champion",
                       "train: warmup", "train: keep: best"]),
        (between, ["weights.c: mechanism dp_sgd", "weights.objective: mechanism", "train.untagged_batch: mixes",
                   "secrets.alpha.level: no such level"]),
    ):  # fmt: skip
        with pytest.raises(InputError) as caught:
            check_config(write(folder, data, "conflicts.yaml"))
        lines = str(caught.value).splitlines()
        assert all(any(f"conflicts.yaml: {one}" in line for line in lines) for one in said), lines
        assert all("Hint: " in line for line in lines)


def test_of_a_union_the_branch_that_was_meant_is_named_and_it_counts_once(folder):
    for value, key in (([0.1, "x"], "2"), ({"a": 1}, ""), ([0.1, -1, "x"], "[23]")):
        with pytest.raises(InputError, match=rf"train\.learning_rate{key and '.' + key}: ") as caught:
            check_config(write(folder, at(train__learning_rate=value), "union.yaml"))
        assert len(caught.value.others) == (len(value) == 3)


def test_every_key_has_a_mistake_in_the_table(refused):
    """A new key comes with a wrong value of it here."""
    rows = (ROOT / "docs" / "configuration.md").read_text().splitlines()
    keys = [line.split("`")[1].rpartition(".")[2] for line in rows if re.match(r"- `[a-z_.]+`.* \(", line)]
    said = " ".join(map(refused, CASES))
    assert len(keys) > 100 and [key for key in keys if not re.search(rf"\b{key}\b", said)] == []


@pytest.mark.parametrize(
    "path",
    ["flows/demo/demo.yaml", *(f"examples/{name}.yaml" for name in ("company", "documents", "finetune"))],
)
def test_the_examples_still_load(path):
    from hush_core.config import load_config

    rounds = load_config(ROOT / path).train.rounds
    assert rounds is None if "company" in path else rounds >= 16


@pytest.mark.parametrize(
    "changes",
    [{"rounds": INF}, {"rounds": True}, {"c": NAN}, {"learning_rate": INF}, {"noise_multiplier": INF}],
)
def test_what_is_changed_for_one_run_is_held_to_the_same_bounds(changes):
    with pytest.raises(ValueError, match=next(iter(changes))):
        Changes(**changes)


COMMANDS = {
    "an infinite clip norm": (("run",), at(train__clip_norm=INF), {}, "train.clip_norm"),
    "globs that match nothing": (("plan",), at(public=["vendored/**"]), {}, "public"),
    "a broken pattern": (("secrets",), at(secrets__ids__file="broken.txt"), {}, "broken.txt:1"),
    "an empty model folder": (("serve", "--with-servers"), at(HUGGING, model__name="empty"), {}, "model.name"),
    "a tracker that is down": (
        ("run",), GOOD, {"MLFLOW_TRACKING_URI": "http://127.0.0.1:9"}, "MLFLOW_TRACKING_URI"
    ),
    "an orchestrator without address": (
        ("run",), GOOD, {"PREFECT_API_URL": "http://no-such-host.invalid:4200/api"}, "PREFECT_API_URL"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", COMMANDS)
def test_the_command_says_it_in_one_line_and_starts_nothing(folder, tmp_path, case):
    command, data, more, says = COMMANDS[case]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "MLFLOW_", "HUSH_"))}
    environment = {**kept, "HUSH_HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "COLUMNS": "120", **more}
    config = write(folder, data, f"{command[0]}.yaml")
    done = warm.run("flows.cli", [command[0], config, *command[1:]], env=environment, timeout=600)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr and done.stderr.startswith("hush: ") and done.stderr.count("\n") == 1
    assert done.stdout == "" and CANARY not in done.stderr
    assert not list(tmp_path.rglob("*.db*")), "a server, or a tracker, was started"


def test_the_command_lists_several_mistakes_for_people_and_for_machines(folder, tmp_path):
    config = write(folder, SEVERAL, "several.yaml")
    environment = {**os.environ, "HUSH_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = warm.run("flows.cli", ["plan", config, "--json"], env=environment, timeout=600)
    lines = done.stderr.splitlines()
    assert done.returncode == 2 and len(lines) == 11 and all(line.startswith("hush: ") for line in lines)
    error = json.loads(done.stdout)["error"]
    assert error["failures"] == [line.removeprefix("hush: ") for line in lines]
    assert f"{error['where']}: {error['what']}. Hint: {error['hint']}" == error["failures"][0]
