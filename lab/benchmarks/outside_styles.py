"""How real repositories write one value: a line or two in a language, a configuration file, a log, a page.

`{n}` is the variable's name in the style's case and `{v}` the value. `kinds`: endings of the real files into which the
lines go, at random; without a real file of that kind among the hosts they go into a new one between the style's own
`frame` and the frame's end. Styles whose marks would need escaping name the characters that they cannot hold (`bars`).
"""

# ruff: noqa: E501 (one row a line)

from dataclasses import dataclass, field

CASES = {
    "snake": lambda words: "_".join(words),
    "upper": lambda words: "_".join(words).upper(),
    "camel": lambda words: words[0] + "".join(word.title() for word in words[1:]),
    "pascal": lambda words: "".join(word.title() for word in words),
    "kebab": lambda words: "-".join(words),
    "dotted": lambda words: ".".join(words),
    "plain": lambda words: " ".join(words),
}


@dataclass(frozen=True)
class Style:
    name: str
    kinds: tuple[str, ...]
    case: str
    lines: str
    bars: str = '"\\\n'
    frame: tuple[str, str] = field(default=("", ""))

    def write(self, name: str, value: str) -> str:
        """The lines; the value stands between the marks \\x01 and \\x02."""
        named = CASES[self.case](name.split("_"))
        return self.lines.replace("{n}", named).replace("{v}", f"\x01{value}\x02")

    def holds(self, value: str) -> bool:
        return not set(self.bars) & set(value)


def _style(name: str, kinds: str, case: str, lines: str, bars: str = '"\\\n', frame: str = "|") -> Style:
    top, bottom = frame.split("|")
    return Style(name, tuple(kinds.split()), case, lines, bars, (top, bottom))


STYLES = [
    _style("python constant", ".py", "upper", '{n} = "{v}"'),
    _style("python single quotes", ".py", "snake", "{n} = '{v}'", "'\\\n"),
    _style("python keyword argument", ".py", "snake", 'client = connect("svc", {n}="{v}", timeout=30)'),
    _style("python dictionary", ".py", "snake", "options = {'region': 'eu', '{n}': '{v}', 'retries': 3}", "'\\\n"),
    _style("python default of the environment", ".py", "upper", '{n} = os.environ.get("{n}", "{v}")'),
    _style("python test", ".py", "snake", 'def test_login():\n    assert login(user="ada", {n}="{v}") is True'),
    _style("python annotated", ".py", "snake", '{n}: str = "{v}"'),
    _style("comment", ".py .sh .rb", "plain", "# old {n}: {v}", "\n"),
    _style("javascript const", ".js", "camel", "const {n} = '{v}';", "'\\\n"),
    _style("javascript object", ".js", "camel", "module.exports = { env: 'prod', {n}: '{v}', debug: false };", "'\\\n"),
    _style("javascript header", ".js", "kebab", "axios.defaults.headers.common['X-{n}'] = '{v}';", "'\\\n"),
    _style("typescript const", ".ts", "camel", 'export const {n}: string = "{v}";'),
    _style("typescript template", ".ts", "camel", "const {n} = `{v}`;", "`$\\\n"),
    _style("java field", ".java", "upper", '    private static final String {n} = "{v}";'),
    _style("java call", ".java", "pascal", '        builder.set{n}("{v}").build();'),
    _style("java annotation", ".java", "dotted", '    @Value("${app.{n}:{v}}")', '"\\\n:{}'),
    _style("go constant", ".go", "camel", '\tconst {n} = "{v}"'),
    _style("go raw string", ".go", "camel", "\t{n} := `{v}`", "`\n"),
    _style("go struct", ".go", "pascal", '\tcfg := Config{Region: "eu", {n}: "{v}"}'),
    _style("rust constant", ".rs", "upper", 'const {n}: &str = "{v}";'),
    _style("c# field", ".cs", "pascal", '        private const string {n} = "{v}";'),
    _style("c# dictionary", ".cs", "pascal", '            settings["{n}"] = "{v}";'),
    _style("php define", ".php", "upper", "define('{n}', '{v}');", "'\\\n"),
    _style("php array", ".php", "snake", "    '{n}' => '{v}',", "'\\\n"),
    _style("php variable", ".php", "snake", '${n} = "{v}";', '"$\\\n'),
    _style("ruby symbol", ".rb", "snake", "  config.{n} = '{v}'", "'\\\n"),
    _style("ruby hash", ".rb", "snake", '  { host: "db1", {n}: "{v}" }', '"#\\\n'),
    _style("kotlin val", ".kt", "camel", 'private const val {n} = "{v}"', '"$\\\n'),
    _style("swift let", ".swift", "camel", '    static let {n} = "{v}"'),
    _style("scala val", ".scala", "camel", '  val {n}: String = "{v}"', '"$\\\n'),
    _style("perl scalar", ".pm .pl .t", "snake", "my ${n} = '{v}';", "'\\\n"),
    _style("lua local", ".lua", "snake", 'local {n} = "{v}"'),
    _style("r assignment", ".R", "dotted", '{n} <- "{v}"'),
    _style("c define", ".c .h", "upper", '#define {n} "{v}"'),
    _style("c string", ".c .h", "snake", 'static const char *{n} = "{v}";'),
    _style("terraform attribute", ".tf", "snake", '  {n} = "{v}"', '"$\\\n'),
    _style("terraform default", ".tf", "snake", 'variable "{n}" {\n  type    = string\n  default = "{v}"\n}', '"$\\\n'),
    _style("yaml plain", ".yaml .yml", "snake", "{n}: {v}", "#:{}[],&*!|>'\"%@`\n ", "service: web\nreplicas: 2\n|\n"),
    _style("yaml quoted", ".yaml .yml", "camel", '{n}: "{v}"', frame="service: web\nreplicas: 2\n|\n"),
    _style("helm values", "values.yaml", "camel", '  {n}: "{v}"', frame="replicaCount: 1\nauth:\n|\nresources: {}\n"),
    _style("toml", ".toml", "snake", '{n} = "{v}"', frame="[service]\nworkers = 4\n|\n"),
    _style("ini", "settings.ini", "snake", "{n} = {v}", "%#;\n", "[service]\nworkers = 4\n|\nverbose = no\n"),
    _style("java properties", "app.properties", "dotted", "service.{n}={v}", "\\\n", "service.port=8080\n|\n"),
    _style("xml element", "service.xml", "camel", "  <{n}>{v}</{n}>", "<>&\n", "<service>\n  <port>80</port>\n|\n</service>\n"),
    _style("xml attribute", "service.config", "pascal", '    <add key="{n}" value="{v}" />', '<>&"\n',
           '<configuration>\n  <appSettings>\n    <add key="Port" value="80" />\n|\n  </appSettings>\n</configuration>\n'),
    _style("json", "service.json", "camel", '  "{n}": "{v}",', frame='{\n  "port": 8080,\n|\n  "debug": false\n}\n'),
    _style("json one line", "fixture.json", "snake", '{"id": 7, "{n}": "{v}", "active": true}'),
    _style("dotenv", ".env", "upper", "{n}={v}", "#$ '\"\n", "PORT=8080\nNODE_ENV=production\n|\nDEBUG=0\n"),
    _style("dotenv quoted", ".env.production", "upper", '{n}="{v}"', '"$\\\n', "PORT=8080\n|\nDEBUG=0\n"),
    _style("dockerfile env", "Dockerfile", "upper", "ENV {n}={v}", "$ '\"\n", "FROM debian:12\n|\nCMD [\"run\"]\n"),
    _style("compose environment", "docker-compose.yml", "upper", "      - {n}={v}", "$#'\" \n",
           "services:\n  web:\n    image: web:2\n    environment:\n|\n    ports: ['80:80']\n"),
    _style("makefile", "Makefile", "upper", "{n} := {v}", "$#\n", "SHELL := /bin/sh\n|\nall: build\n"),
    _style("shell export", ".sh", "upper", "export {n}='{v}'", "'\n", "#!/bin/sh\nset -e\n|\n"),
    _style("shell unquoted", ".sh", "upper", "{n}={v}", "$#&;|<>()*?!~`'\" \n", "#!/bin/sh\n|\n"),
    _style("curl header", ".sh .md", "pascal", "curl -H 'X-{n}: {v}' https://api.internal.example/v1/items", "'\n"),
    _style("curl bearer", ".sh .md", "plain", 'curl -s -H "Authorization: Bearer {v}" https://api.internal.example/me',
           '"$\n '),
    _style("markdown prose", ".md .rst", "plain", "Use `{v}` as the {n} until the vault is ready.", "`\n"),
    _style("markdown table", ".md", "plain", "| staging | {n} | {v} |", "|\n"),
    _style("sql insert", "seed.sql", "snake", "INSERT INTO settings (name, value) VALUES ('{n}', '{v}');", "'\n"),
    _style("powershell", ".ps1", "pascal", "$" + '{n} = "{v}"', '"$`\n'),
    _style("batch", "deploy.bat", "upper", "set {n}={v}", "%&^|<>!\n", "@echo off\n|\ncall run.bat\n"),
    _style("notebook", "analysis.ipynb", "snake", '    "{n} = \'{v}\'\\n",', "'\"\\\n",
           '{"cells": [{"cell_type": "code", "source": [\n    "import os\\n",\n|\n    "run()"\n]}], "nbformat": 4}\n'),
    _style("log line", "worker.log", "snake", "2025-03-04 11:02:09,113 DEBUG worker: connected {n}={v} after 34 ms",
           " \n", "2025-03-04 11:02:08,000 INFO worker: starting\n|\n"),
    _style("csv", "accounts.csv", "snake", "17,staging,{n},{v},2025-01-04", '",\n', "id,stage,name,value,created\n|\n"),
    _style("html", "index.html", "kebab", '  <meta name="{n}" content="{v}">', '"<>&\n', "<html>\n<head>\n|\n</head>\n"),
    _style("html script", "page.html", "camel", '  <script>window.{n} = "{v}";</script>', '"<>&\\\n', "<html>\n|\n</html>\n"),
    _style("graphql", "query.graphql", "camel", '  login({n}: "{v}") { id }', '"\\\n', "mutation {\n|\n}\n"),
    _style("protobuf text", "config.textproto", "snake", '  {n}: "{v}"', '"\\\n', "server {\n  port: 80\n|\n}\n"),
    _style("query parameter", ".md .py .js", "snake", "# https://api.internal.example/v2/list?page=2&{n}={v}&sort=asc",
           "&#?'\"+/=:% \n"),
    _style("command flag", ".sh .md", "kebab", "deployer push --env prod --{n}={v} --wait", "$#&;|<>()*?!~`'\" \n"),
    _style("nix", "default.nix", "camel", '  {n} = "{v}";', '"$\\\n', "{ pkgs }:\n{\n|\n}\n"),
    _style("groovy", "build.gradle", "camel", "    {n} = '{v}'", "'\\\n", "ext {\n|\n}\n"),
    _style("hocon", "application.conf", "kebab", '  {n} = "{v}"', '"$\\\n', "service {\n  port = 80\n|\n}\n"),
    _style("elixir config", "prod.exs", "snake", '  {n}: "{v}"', '"#\\\n', "import Config\nconfig :app,\n|\n"),
    _style("dart", "main.dart", "camel", "const {n} = '{v}';", "'$\\\n", "void main() {\n|\n}\n"),
    _style("diff", "change.patch", "upper", "-{n} = '{v}'", "'\n", "--- a/app.py\n+++ b/app.py\n@@ -3,2 +3,2 @@\n|\n+X = read()\n"),
]  # fmt: skip
