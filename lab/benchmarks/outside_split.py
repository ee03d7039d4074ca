"""One value in several places: concatenated, folded, wrapped, joined later. Every part must be found.

A form says how many parts it makes, of what size, and how they are written. Parts stand between the marks \\x01 and
\\x02, as a whole value does elsewhere.
"""

# ruff: noqa: E501 (one row a line)

import random
from collections.abc import Callable
from dataclasses import dataclass

Writer = Callable[[str, list[str]], str]


@dataclass(frozen=True)
class Form:
    """`kinds`: endings of the files that hold it. `parts`: how many; 0: lines of `width` characters."""

    name: str
    kinds: tuple[str, ...]
    case: str
    parts: int
    write: Writer
    width: int = 24
    bars: str = "'\"\\\n$`"

    def cut(self, value: str, chance: random.Random) -> list[str]:
        """The value in pieces, each at least four characters."""
        if not self.parts:
            return [value[i : i + self.width] for i in range(0, len(value), self.width)]
        places = [round(len(value) * (i + 1) / self.parts) for i in range(self.parts - 1)]
        shifted = [
            place + chance.randint(-3, 3) if len(value) > 12 * self.parts else place for place in places
        ]
        return [value[i:j] for i, j in zip([0, *shifted], [*shifted, len(value)], strict=True)]

    def holds(self, value: str) -> bool:
        least = 8 * max(self.parts, 2) if self.parts else self.width + 8
        return least <= len(value) <= 260 and not set(self.bars) & set(value)


def _joined(start: str, each: str, between: str, end: str) -> Writer:
    """`{n}` the name, `{p}` a part."""

    def write(name: str, parts: list[str]) -> str:
        body = between.join(each.replace("{p}", f"\x01{part}\x02") for part in parts)
        return start.replace("{n}", name) + body + end.replace("{n}", name)

    return write


def _named(lines: str) -> Writer:
    """`{0}`, `{1}`, ... the parts in their places."""

    def write(name: str, parts: list[str]) -> str:
        text = lines.replace("{n}", name)
        for i, part in enumerate(parts):
            text = text.replace(f"{{{i}}}", f"\x01{part}\x02")
        return text

    return write


def _form(
    name: str, kinds: str, case: str, parts: int, write: Writer, width: int = 24, bars: str = "'\"\\\n$`"
) -> Form:
    return Form(name, tuple(kinds.split()), case, parts, write, width, bars)


FORMS = [
    _form("python plus", ".py", "snake", 2, _joined("{n} = ", '"{p}"', " + ", "")),
    _form("python plus on lines", ".py", "upper", 3, _joined("{n} = (\n    ", '"{p}"', "\n    + ", "\n)")),
    _form("python adjacent", ".py", "upper", 0, _joined("{n} = (\n", '    "{p}"', "\n", "\n)")),
    _form("python backslash", ".py", "snake", 2, _joined("{n} = ", "'{p}'", " \\\n    ", "")),
    _form("python join", ".py", "snake", 3, _joined('{n} = "".join([', "'{p}'", ", ", "])")),
    _form("python formatted", ".py", "snake", 2, _named('head = "{0}"\n{n} = f"{head}{1}"')),
    _form("python two variables", ".py", "snake", 2, _named("first = '{0}'\nsecond = '{1}'\n{n} = first + second")),
    _form("python added later", ".py", "snake", 2, _named("{n} = '{0}'\nload()\n{n} += '{1}'")),
    _form("python percent", ".py", "snake", 2, _named('{n} = "%s%s" % ("{0}", "{1}")')),
    _form("python text block", ".py", "upper", 0, _joined('{n} = """\n', "{p}", "\n", '\n""".replace("\\n", "")')),
    _form("javascript plus", ".js .ts", "camel", 2, _joined("const {n} = ", "'{p}'", " + ", ";")),
    _form("javascript plus on lines", ".js .ts", "camel", 3, _joined("const {n} =\n  ", '"{p}"', " +\n  ", ";")),
    _form("javascript join", ".js .ts", "camel", 3, _joined("const {n} = [", "'{p}'", ", ", "].join('');")),
    _form("javascript template", ".js .ts", "camel", 2, _named("const head = '{0}';\nconst {n} = `${head}{1}`;")),
    _form("javascript concat", ".js", "camel", 2, _named("const {n} = '{0}'.concat('{1}');")),
    _form("java plus", ".java", "upper", 2, _joined("    static final String {n} = ", '"{p}"', "\n        + ", ";")),
    _form("java builder", ".java", "camel", 2, _named('        String {n} = new StringBuilder("{0}").append("{1}").toString();')),
    _form("go plus", ".go", "camel", 2, _joined("\tvar {n} = ", '"{p}"', " +\n\t\t", "")),
    _form("c adjacent", ".c .h", "snake", 0, _joined("static const char {n}[] =\n", '    "{p}"', "\n", ";")),
    _form("c# plus", ".cs", "pascal", 2, _joined("        const string {n} = ", '"{p}"', "\n            + ", ";")),
    _form("php dot", ".php", "snake", 2, _joined("$" + "{n} = ", "'{p}'", " . ", ";")),
    _form("ruby backslash", ".rb", "snake", 2, _joined("{n} = ", "'{p}'", " \\\n  ", "")),
    _form("ruby plus", ".rb", "snake", 2, _joined("{n} = ", "'{p}'", " + ", "")),
    _form("kotlin plus", ".kt", "camel", 2, _joined("val {n} = ", '"{p}"', " +\n    ", "")),
    _form("swift plus", ".swift", "camel", 2, _joined("let {n} = ", '"{p}"', " + ", "")),
    _form("rust concat", ".rs", "upper", 2, _joined("const {n}: &str = concat!(", '"{p}"', ", ", ");")),
    _form("lua dots", ".lua", "snake", 2, _joined("local {n} = ", '"{p}"', " .. ", "")),
    _form("perl dot", ".pm .t", "snake", 2, _joined("my $" + "{n} = ", "'{p}'", " . ", ";")),
    _form("shell backslash", ".sh", "upper", 2, _joined('export {n}="', "{p}", "\\\n", '"')),
    _form("shell two variables", ".sh", "upper", 2, _named('HEAD="{0}"\nTAIL="{1}"\n{n}="${HEAD}${TAIL}"')),
    _form("shell heredoc", ".sh", "upper", 0, _joined("{n}=$(tr -d '\\n' <<END\n", "{p}", "\n", "\nEND\n)")),
    _form("yaml folded", ".yaml .yml", "snake", 0, _joined("{n}: >-\n", "  {p}", "\n", "")),
    _form("yaml literal", ".yaml .yml", "snake", 0, _joined("{n}: |\n", "  {p}", "\n", "")),
    _form("yaml quoted fold", ".yaml .yml", "snake", 2, _joined('{n}: "', "{p}", "\\\n  ", '"')),
    _form("properties backslash", ".properties", "dotted", 2, _joined("{n}=", "{p}", "\\\n    ", "")),
    _form("toml lines", ".toml", "snake", 2, _joined('{n} = """\\\n', "  {p}", "\\\n", '\\\n  """')),
    _form("terraform join", ".tf", "snake", 2, _joined("  {n} = join(\"\", [", '"{p}"', ", ", "])")),
    _form("powershell plus", ".ps1", "pascal", 2, _joined("$" + "{n} = ", '"{p}"', " + ", "")),
    _form("json list", ".json", "camel", 3, _joined('{"{n}": [', '"{p}"', ", ", "]}")),
    _form("makefile append", ".mk", "upper", 2, _named("{n} := {0}\n{n} := $({n}){1}")),
    _form("quoted mail", ".md", "plain", 0, _joined("the {n} is\n", "> {p}", "\n", "\n"), 30),
    _form("wrapped comment", ".py .sh", "plain", 0, _joined("# {n}:\n", "# {p}", "\n", ""), 40),
]  # fmt: skip
