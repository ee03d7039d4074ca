"""How languages join the parts of a string: what is between two literals, in a list, at a line's end.

Each form has a pattern (RE2) and a gate (hyperscan: may it be on this line?).
"""

# ruff: noqa: E501  (tables and patterns: one row a form)

from __future__ import annotations

import re

from hush_core import linear

_T = rb"[A-Za-z0-9+/_=.~$:@!%-]"
_Q = rb"[\"'`]"
_OPERATOR = rb"(?:\+\+?|\.\.?|&|~|\^|<>|\|\||<<|\*)"
_REST = rb"[ \t]*(?:(?:#|//|--)[^\n]{0,80})?"
"""What may follow a literal on its line: blanks, a comment."""
_SAME = rb"\$?([A-Za-z_]\w{0,63})[ \t]*"
GLUE = linear.compile(
    rb"[ \t]*\)?" + _REST + rb"(?:[ \t]*\\?[ \t]*\r?\n[ \t]*){0,3}"  # to the next line or not
    rb"(?:"
    rb";?\s{0,40}[A-Za-z_$@][\w.$]{0,63}[ \t]*(?:\+=|\.=|<<|&=|\|\|=|\.\.=)[ \t]*"  # x += "…"
    rb"|;?\s{0,40}(?:export[ \t]+|set[ \t]+)?" + _SAME + rb"=[ \t]*\$?([A-Za-z_]\w{0,63})[ \t]*" + _OPERATOR + rb"[ \t]*"  # x = x + "…"
    rb"|;?\s{0,40}[\w.]{0,64}\.?\s{0,20}(?:append|concat|add|push|push_str|write|Append|plus|Concat|AppendLiteral|WriteString)[(!]{1,2}[ \t]*"
    rb"|(?:" + _OPERATOR + rb"[ \t]*_?(?:[ \t]*\\?" + _REST + rb"\r?\n[ \t]*){0,2})?)"
    rb"\(?[brfuBRFULS@$]{0,2}(?=[\"'`])"
)  # fmt: skip
NO_GLUE = re.compile(rb"[ \t]*+\)?+[ \t]*+[,:\]})=>{\[%!?]")
"""What neither GLUE nor SHELL begins with."""
COMMA = linear.compile(
    rb"[ \t]*(?:%[ \t]*\(|\)?)(?:\.to_?[sS]tring\(\)|\.into\(\))?[ \t]*,?"
    + _REST
    + rb"(?:[ \t]*\r?\n[ \t]*){0,2},?[ \t]*[brfuBRFULS@$]{0,2}(?=[\"'`])"
)
SHELL = linear.compile(rb"[;\s]{1,40}(?:export[ \t]+|set[ \t]+)?([A-Za-z_]\w{0,63})=([\"'])\$\{?")
"""The name must follow again."""
LITERAL = linear.compile(rb"\"([^\"\\\n]{0,400})\"|'([^'\\\n]{0,400})'|`([^`\\\n]{0,400})`")
JOINER = linear.compile(
    rb"(?i)(?:join|concat|concatenate|paste0?|implode|cat|format|sprintf|append|fmt|strcat|string)[\"'`]?\W{0,24}[^\n]{0,40}\Z"
)
JOINER_AFTER = linear.compile(rb"[\"'](?:%[sv]){1,8}[\"'][ \t]*%[ \t]*\(")
JOINED_AFTER = linear.compile(
    rb"\s{0,8}[\])}]{1,2}\s{0,4}(?:\.|->|\||;)?\s{0,8}(?:iter\(\)\.)?(?:join|concat|reduce|collect|implode)"
)
PATTERN_ONLY = re.compile(rb"(?:%[sdv]|\{\d?\}|\$\d|[ ,])*")

_RUNS = rb"[A-Za-z0-9+/_=.~-]"
CONTINUED = linear.compile(_RUNS + rb"{4,512}(?:\\\r?\n[ \t]{0,64}" + _RUNS + rb"{1,512})+")
FOLDED = linear.compile(
    rb"(?m)^([ \t]*)(?:-[ \t]+)?[\"']?([A-Za-z0-9_.-]{1,80})[\"']?[ \t]*:[ \t]*[>|][+-]?[0-9]?[ \t]*\r?\n"
)
OPENED = linear.compile(
    rb"([A-Za-z0-9_.-]{1,80})[\"']?[ \t]*(?:=|:|=>|:=|\()[ \t]*(?:[\"'`]{1,3}|<<[-~]?[\"']?\w{1,16}[\"']?|\()[ \t]*\\?\r?\n"
)

_NAME = rb"[A-Za-z_]\w*"
_DOTTED = _NAME + rb"(?:\." + _NAME + rb"){0,4}"
_BETWEEN = rb"[ \t]{0,8}(?:\+|\.\.|&|\|\||<>|~)[ \t]{0,8}"
_FILLED = rb"(?:\$\{|\$\(|\{\{?|#\{|\$)[ \t]?" + _DOTTED + rb"[ \t]?[})]{0,2}"
EXPRESSION = linear.compile(
    rb"(?:=>|[:=(,]|\breturn\b)[ \t]{0,8}[frb@$]?[\"'`]?("
    + (_FILLED + rb"(?:" + _FILLED + rb"){1,7}")
    + (rb"|" + _DOTTED + rb"(?:" + _BETWEEN + _DOTTED + rb"){1,7}")
    + (rb"|\$" + _NAME + rb"(?:[ \t]{0,8}\.[ \t]{0,8}\$" + _NAME + rb"){1,7}")
    + rb")[\"'`]?[ \t]{0,8}(?=[;,)}\n\r#]|\Z)"
)
NAMES = linear.compile(_DOTTED)

ASSIGNED = linear.compile(
    rb"[\"']?[ \t]*(?::[ \t]?[A-Za-z]{1,16}[ \t]*)?(?:=>|:=|=|:)[ \t]*[brfu]?(?:\"([^\"\\\n]{1,400})\"|'([^'\\\n]{1,400})'|`([^`\\\n]{1,400})`|([A-Za-z0-9+/_=.~-]{4,400})(?=[ \t;]*(?:\r?\n|\Z)))"
)
"""What a name may be given as its value."""

_GAP = rb"[\s+.&|~^<>\\_*()$@#;/-]{0,60}"
JOINT_GATE = (
    _T + rb"{2}" + _Q + rb"(?:" + _GAP + rb"[brfuBRFUL]?|" + _GAP + rb"[A-Za-z_$@][\w.]{0,60}[ \t]{0,4}(?:\+=|\.=|<<|&=)[ \t]{0,4}"
    + rb"|" + _GAP + rb"[A-Za-z_$@][\w.]{0,60}[ \t]{0,4}=[ \t]{0,4}\$?[A-Za-z_]\w{0,60}[ \t]{0,4}[+.&|<>]{1,2}[ \t]{0,4}"
    + rb"|" + _GAP + rb"[\w.]{0,60}(?:append|concat|add|push|push_str|write|Append|plus|Concat|WriteString)[(!]{1,2}[ \t]{0,4})" + _Q + _T + rb"{2}"
)  # fmt: skip
LIST_GATE = (
    rb"(?:%s" + _Q + rb"[ \t]*%[ \t]*\([ \t]*" + _Q + rb"|(?i:join|concat|paste0?|implode|sprintf|format|strcat)[\"'`]?\W{0,24}[^\n]{0,40}" + _Q + rb"[^\"'`\n]{1,200}" + _Q + rb"[ \t]*,\s{0,40}[a-z@$]{0,2}" + _Q
    + rb"|(?i:key|token|secret|pass(?:word)?|pwd|auth|cred(?:ential)?s?)[A-Za-z0-9_]{0,24}[\"'`]?[ \t]*(?:=>|:=|=|:)[ \t]*[\[({][^\n\"'`]{0,40}\n?[ \t]{0,40}" + _Q + _T + rb"{2,200}" + _Q + rb"[ \t]*,\s{0,40}" + _Q
    + rb"|" + _Q + _T + rb"{2,200}" + _Q + rb"[ \t]*,\s{0,40}" + _Q + _T + rb"{2,200}" + _Q + rb"\s{0,8},?\s{0,8}[\])}]{1,2}\s{0,8}(?:\.|->|\|)\s{0,8}(?:join|concat|reduce|implode))"
)  # fmt: skip
CONTINUED_GATE = _RUNS + rb"{4}\\\r?\n[ \t]{0,64}" + _RUNS + rb"{4}"
FOLDED_GATE = (
    rb"(?::[ \t]{0,4}[>|][+-]?[0-9]?|<<[-~]?[\"']?[A-Z]{1,16}[\"']?|[\"'`(])[ \t]{0,4}\\?\r?\n[ \t]*"
    + _RUNS + rb"{4,}[ \t]*\\?\r?\n[ \t]*" + _RUNS + rb"{4}"
)  # fmt: skip
VARIABLES_GATE = (
    rb"(?:(?:\$\{|\$\(|\{\{?|#\{)[A-Za-z_][\w.]{0,40}[})]{1,2}(?:\$\{|\$\(|\{\{?|#\{)[A-Za-z_]|\$[A-Za-z_]\w{0,40}\$[A-Za-z_]"
    rb"|\$[A-Za-z_]\w{0,40}[ \t]{0,4}\.[ \t]{0,4}\$[A-Za-z_]\w{0,40}[ \t]{0,4}[;,).]"
    rb"|(?:=|return)[ \t]{0,4}[A-Za-z_][\w.]{0,40}[ \t]{0,4}(?:\+|\.\.|&|\|\||<>|~)[ \t]{0,4}[A-Za-z_][\w.]{0,40}[ \t]{0,4}(?:[;,)]?[ \t]{0,4}\r?\n|[;+.&]))"
)  # fmt: skip
