"""Wider plantings than `credential_recall.py`'s: neutral names, named values without a prefix, tools' files, parts.

Tuning material: types and styles that nobody else's rules were read for, written into real files, every value drawn
anew by the seed. What is judged is the scanner alone (fast): a planting is found if every byte of its value is in
spans of findings, or lies between the first and the last part of a joined one. `--end-to-end` judges as
`credential_recall.py` does, with 64-byte chunks, and says how many found values fall below 20 bits.

    python lab/benchmarks/credential_wide.py --seed 1
    python lab/benchmarks/credential_wide.py --seed 2 --each 2 --end-to-end
"""

# ruff: noqa: E501  (tables: one row a type, a style)

from __future__ import annotations

import argparse
import base64
import random
import re
import string
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from credential_formats import HUMAN, pattern

from hush_core.secrets.detectors.credential_scanner import CredentialScanner
from hush_core.secrets.priors import WEAK_BITS, guess_bits

UUID = "{hex:8}-{hex:4}-4{hex:3}-a{hex:3}-{hex:12}"
PREFIXED = {
    "hubspot": f"pat-na1-{UUID}", "tailscale": "tskey-auth-k{alnum:10}CNTRL-{alnum:32}", "contentful": "CFPAT-{url:43}", "sonar": "squ_{hex:40}",
    "google-oauth": "ya29.a0{url:140}", "google-client-secret": "GOCSPX-{url:28}", "braintree": "access_token$production${lower:16}${hex:32}", "alibaba": "LTAI5t{alnum:18}",
    "artifactory": "AKCp8{alnum:68}", "square-secret": "sq0csp-{url:43}", "onepassword": "ops_eyJ{base64:300}", "asana": "1/12{digits:14}:{hex:32}",
    "buildkite": "bkua_{hex:40}", "groq": "gsk_{alnum:52}", "xai": "xai-{alnum:80}", "perplexity": "pplx-{alnum:48}", "langsmith": "lsv2_pt_{hex:32}_{hex:10}", "pinecone": "pcsk_{alnum:5}_{alnum:63}",
    "duffel": "duffel_live_{url:43}", "dynatrace": "dt0c01.{upper:24}.{upper:64}", "easypost": "EZAK{alnum:54}", "flutterwave": "FLWSECK-{hex:32}-X", "frameio": "fio-u-{url:64}", "lob": "live_{hex:35}",
    "netlify": "nfp_{alnum:36}", "newrelic-user": "NRAK-{upper:27}", "planetscale": "pscale_tkn_{url:43}", "prefect": "pnu_{alnum:36}", "readme": "rdme_{lower:70}", "shippo": "shippo_live_{hex:40}", "shopify": "shpss_{hex:32}",
    "slack-app": "xapp-1-A{upper:10}-{digits:13}-{hex:64}", "slack-user": "xoxp-{digits:12}-{digits:12}-{digits:13}-{hex:32}", "snyk": "snyk_uat.{hex:8}.eyJ{base64:120}.{url:86}", "stripe-webhook": "whsec_{alnum:32}", "supabase": "sbp_{hex:40}", "typeform": "tfp_{alnum:44}_{alnum:14}",
    "yandex": "AQVN{url:36}", "trello": "ATTA{hex:72}", "launchdarkly": f"api-{UUID}", "razorpay": "rzp_live_{alnum:14}", "airtable": "pat{alnum:14}.{hex:64}", "sendinblue": "xkeysib-{hex:64}-{alnum:16}", "mailgun": "key-{hex:32}",
    "gitlab-runner": "glrt-{url:20}", "gitlab-trigger": "glptt-{hex:40}", "docker-org": "dckr_oat_{url:32}", "circleci": "CCIPAT_{alnum:22}_{hex:40}", "digitalocean-refresh": "dor_v1_{hex:64}", "doppler-service": "dp.st.prd.{alnum:43}", "figma": "figd_{url:40}",
    "fly": "fo1_{url:43}", "grafana-cloud": "glc_eyJ{base64:120}", "harness": "pat.{url:22}.{hex:24}.{alnum:20}", "infracost": "ico-{alnum:32}", "intra42": "s-s4t2ud-{hex:64}", "linear-oauth": "lin_oauth_{hex:64}", "notion-old": "secret_{alnum:43}", "nuget": "oy2{lower:43}",
    "octopus": "API-{upper:28}", "openai-service": "sk-svcacct-{url:74}T3BlbkFJ{url:74}", "openrouter": "sk-or-v1-{hex:64}", "posthog": "phc_{alnum:43}", "pulumi": "pul-{hex:40}", "rapidapi": "{lower:10}msh{lower:15}p1{lower:6}jsn{lower:12}", "replicate": "r8_{alnum:37}", "resend": "re_{alnum:8}_{alnum:24}",
    "rubygems": "rubygems_{hex:48}", "salesforce": "00D{alnum:12}!AQ{url:94}", "scalingo": "tk-us-{url:48}", "sentry-org": "sntrys_eyJ{base64:180}_{base64:43}", "sourcegraph": "sgp_{hex:16}_{hex:40}", "terraform": "{alnum:14}.atlasv1.{url:67}", "vercel-blob": "vercel_blob_rw_{alnum:16}_{alnum:30}", "wakatime": f"waka_{UUID}",
    "zapier-webhook": "https://hooks.zapier.com/hooks/catch/{digits:7}/{lower:7}/", "teams-webhook": f"https://acme.webhook.office.com/webhookb2/{UUID}@{UUID}/IncomingWebhook/{{hex:32}}/{UUID}", "okta": "00{url:40}", "azure-devops": "{alnum:76}AZDO{alnum:4}", "azure-sas": "https://acme.blob.core.windows.net/c?sv=2022-11-02&ss=b&sig={base64:43}%3D",
    "azure-storage": "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={base64:86}==;EndpointSuffix=core.windows.net", "vault-batch": "hvb.{url:140}", "unheard-of": "acme_live_{alnum:32}", "unheard-hex": "zq_{hex:40}", "unheard-dash": "wxy-{lower:36}", "facebook": "EAAG{alnum:160}", "heroku": "HRKU-AA{url:58}", "jwt-like": "eyJhbGciOiJIUzI1NiJ9.eyJ{url:60}.{url:43}",
    "elastic": "VnVhQ2ZHY0JDZGJrU{alnum:40}==", "discord-mfa": "mfa.{url:84}", "twitter-bearer": "AAAAAAAAAAAAAAAAAAAAA{alnum:80}", "maxmind": "{alnum:6}_{alnum:29}_mmk", "cloudflare-origin": "v1.0-{hex:24}-{hex:146}", "sumo": "su{alnum:12}", "monday": "eyJhbGciOiJIUzI1NiJ9.{url:120}.{url:43}", "age": "AGE-SECRET-KEY-1{upper:58}", "databricks": "dapi{hex:32}-2",
}  # fmt: skip
NAMED = {
    "hex32": ("{hex:32}", "API_KEY TWILIO_AUTH_TOKEN DATADOG_API_KEY APP_SECRET"), "hex40": ("{hex:40}", "ACCESS_TOKEN GITHUB_SECRET DD_APP_KEY"), "hex64": ("{hex:64}", "SECRET_KEY_BASE ENCRYPTION_KEY SIGNING_SECRET SESSION_SECRET"),
    "base64-32": ("{base64:43}=", "JWT_SECRET COOKIE_SECRET MASTER_KEY HMAC_KEY"), "base64-64": ("{base64:86}==", "STORAGE_ACCOUNT_KEY COSMOS_PRIMARY_KEY"), "url-43": ("{url:43}", "CLIENT_SECRET AUTH_TOKEN REFRESH_TOKEN API_TOKEN"), "alnum-16": ("{alnum:16}", "SMTP_PASSWORD CONFLUENT_KEY ACCESS_KEY"), "alnum-20": ("{alnum:20}", "FINNHUB_API_KEY LOOKER_SECRET DB_PASS"),
    "alnum-24": ("{alnum:24}", "ETSY_API_KEY PASSPHRASE CONSUMER_KEY"), "alnum-32": ("{alnum:32}", "ALGOLIA_ADMIN_KEY LICENSE_KEY BOT_TOKEN"), "alnum-40": ("{base64:40}", "AWS_SECRET_ACCESS_KEY awsSecretKey"), "lower-32": ("{lower:32}", "ADAFRUIT_KEY BITBUCKET_CLIENT_SECRET API_SECRET"), "upper-32": ("{base32:32}", "TOTP_SECRET MFA_SEED"), "lower-52": ("{low:52}", "AZURE_DEVOPS_EXT_PAT SYSTEM_ACCESSTOKEN"),
    "uuid": (UUID, "HEROKU_API_KEY API_KEY CLIENT_SECRET"), "password-16": ("{human:16}", "DB_PASSWORD ADMIN_PASSWORD"), "password-12": ("{human:12}", "MYSQL_ROOT_PASSWORD REDIS_PASSWORD"), "password-human": ("{word:1}{digits:2}!", "LDAP_PASSWORD FTP_PASS"), "aws-session": ("{base64:360}", "AWS_SESSION_TOKEN SESSION_TOKEN"), "long-1000": ("{base64:1000}", "KUBE_TOKEN GOOGLE_REFRESH_TOKEN"),
    "salt": ("{base64:22}", "PASSWORD_SALT HASH_SALT"), "webhook": ("{url:32}", "WEBHOOK_SECRET SIGNATURE_KEY"), "license": ("{upper:5}-{upper:5}-{upper:5}-{upper:5}-{upper:5}", "LICENSE_KEY PRODUCT_KEY"), "dsn": ("postgresql://svc:{alnum:18}@db.acme.test/app", "DATABASE_DSN CONNECTION_STRING"), "cookie": ("{alnum:26}", "SESSION_COOKIE PHPSESSID_COOKIE"),
}  # fmt: skip
STYLES = {
    "python": '{s} = "{v}"', "python-dict": "    '{s}': '{v}',", "python-call": 'client = Client({s}="{v}", retries=3)', "python-environ": 'os.environ["{N}"] = "{v}"', "python-get": 'x = os.getenv("{N}", "{v}")', "python-typed": '{s}: str = "{v}"',
    "js": "const {c} = '{v}';", "js-object": "  {c}: `{v}`,", "ts": 'private readonly {c}: string = "{v}";', "go": '{c} := "{v}"', "go-struct": '\t{C}: "{v}",', "rust": 'const {N}: &str = "{v}";', "java": 'private static final String {N} = "{v}";', "java-builder": '        .with{C}("{v}")', "kotlin": 'val {c} = "{v}"', "swift": 'let {c} = "{v}"',
    "csharp": 'public string {C} {{ get; set; }} = "{v}";', "php": "$config['{s}'] = '{v}';", "php-arrow": "    '{s}' => '{v}',", "php-define": "define('{N}', '{v}');", "ruby": "{s} = '{v}'", "ruby-hash": '  :{s} => "{v}",', "ruby-env": "ENV['{N}'] ||= '{v}'", "perl": 'my ${s} = "{v}";', "lua": 'local {s} = "{v}"', "elixir": 'config :app, {s}: "{v}"',
    "clojure": '(def {k} "{v}")', "lisp": '(setq {k} "{v}")', "r": '{s} <- "{v}"', "scala": 'val {c}: String = "{v}"', "haskell": '{c} = "{v}"', "c-define": '#define {N} "{v}"', "cpp": 'const char* {c} = "{v}";', "dotenv": "{N}={v}", "export": 'export {N}="{v}"', "fish": "set -gx {N} {v}", "powershell": '$env:{N} = "{v}"', "batch": "set {N}={v}", "setx": 'setx {N} "{v}"',
    "make": "{N} := {v}", "cmake": 'set({N} "{v}")', "docker-env": "ENV {N}={v}", "docker-arg": "ARG {N} {v}", "compose": "      - {N}={v}", "yaml": "{s}: {v}", "yaml-quoted": '  {k}: "{v}"', "k8s-env": "        - name: {N}\n          value: {v}", "toml": '{s} = "{v}"', "ini": "{k} = {v}", "properties": "app.{d}={v}", "json": '  "{c}": "{v}",', "json-pair": '  {{"name": "{N}", "value": "{v}"}},',
    "xml": "  <{c}>{v}</{c}>", "xml-attribute": '  <add key="{C}" value="{v}"/>', "plist": "  <key>{C}</key>\n  <string>{v}</string>", "html": '<input type="hidden" name="{s}" value="{v}">', "meta": '<meta name="{k}" content="{v}">', "terraform": '  {s} = "{v}"', "tf-variable": 'variable "{s}" {{\n  default = "{v}"\n}}', "nginx": "    set ${s} {v};", "apache": "SetEnv {N} {v}", "flag": "./run --{k} {v} --verbose", "flag-equals": "./run --{k}={v}",
    "header": 'curl -H "X-{K}: {v}" https://api.acme.test', "query": "GET https://api.acme.test/v1?{s}={v}&page=2", "comment": "# the {w} is {v}", "todo": "// TODO remove {w}: {v}", "markdown": "| {w} | `{v}` |", "csv": "name,{s},active\nacme,{v},true", "sql-insert": "INSERT INTO settings VALUES ('{s}', '{v}');", "log": "2024-05-01 12:00:01 INFO {s}={v} status=200", "groovy": "def {c} = '{v}'",
    "put": 'props.put("{d}", "{v}");', "set-property": 'System.setProperty("{d}", "{v}");', "vim": "let g:{s} = '{v}'", "ipynb": '    "{s} = \\"{v}\\"\\n",', "gh-actions": "          {N}: {v}", "ansible": "{s}: '{v}'", "assertion": 'assertEquals("{v}", cfg.{c});', "array": '{c}s = ["{v}"]', "tuple": '("{s}", "{v}"),', "julia": 'const {N} = "{v}"', "objc": 'NSString *{c} = @"{v}";', "dart": "final String {c} = '{v}';", "vb": 'Dim {c} As String = "{v}"', "sql-set": "SET @{s} = '{v}';", "proto": '  {s}: "{v}"', "spring": "    {k}: {v}",
}  # fmt: skip
NEUTRAL = ("VALUE", "DATA", "ITEM_TWO", "CFG", "THING", "RESULT", "ARG", "MY_STRING", "ENTRY", "FOO_BAR")
FILES = {
    "netrc": "machine api.acme.test\n  login deploy\n  password {v}\n", "netrc-line": "machine ftp.acme.test login bob password {v}\n", "pgpass": "db.acme.test:5432:orders:app:{v}\n", "docker-auth": '{{\n  "auths": {{\n    "https://index.docker.io/v1/": {{\n      "auth": "{b}"\n    }}\n  }}\n}}\n', "wp-config": "<?php\ndefine( 'DB_NAME', 'wp' );\ndefine( 'DB_PASSWORD', '{v}' );\n", "wp-salt": "define('AUTH_KEY',         '{v}');\n",
    "odbc": "[orders]\nDriver = PostgreSQL\nServer = db\nUID = app\nPWD = {v}\n", "odbc-string": 'cs = "Driver={{SQL Server}};Server=db1;Database=x;Uid=sa;Pwd={v};"\n', "jdbc": "jdbc:mysql://db.acme.test:3306/x?user=app&password={v}&useSSL=true\n", "jdbc-sqlserver": "spring.datasource.url=jdbc:sqlserver://db:1433;databaseName=x;user=sa;password={v};encrypt=true\n", "ado": '<add name="d" connectionString="Data Source=db;Initial Catalog=x;User ID=sa;Password={v}" />\n', "oracle": "jdbc:oracle:thin:scott/{v}@db.acme.test:1521:XE\n",
    "npmrc": "//registry.npmjs.org/:_authToken={v}\n", "npmrc-auth": "_auth={b}\nemail=x@acme.test\n", "npmrc-password": "//npm.acme.test/:_password={e}\n", "pypirc": "[pypi]\nusername = bob\npassword = {v}\n", "htpasswd": "bob:$apr1${h8}${h22}\nann:$apr1${g8}${g22}\n", "maven": "<server>\n  <id>acme</id>\n  <username>bob</username>\n  <password>{v}</password>\n</server>\n", "kubeconfig-token": "users:\n- name: admin\n  user:\n    token: {v}\n", "kubeconfig-key": "users:\n- name: admin\n  user:\n    client-key-data: {l}\n",
    "k8s-secret": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ntype: Opaque\ndata:\n  password: {e}\n", "k8s-stringdata": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\nstringData:\n  DB_PASS: {v}\n", "mycnf": "[client]\nuser = root\npassword = {v}\nhost = db\n", "redis": "bind 0.0.0.0\nrequirepass {v}\nmasterauth {w}\n", "filezilla": '<Server>\n  <Host>ftp.acme.test</Host>\n  <User>bob</User>\n  <Pass encoding="base64">{e}</Pass>\n</Server>\n', "sftp-config": '{{\n  "host": "h.acme.test",\n  "user": "bob",\n  "password": "{v}",\n  "port": "22"\n}}\n',
    "web-config": '<appSettings>\n  <add key="SmtpPassword" value="{v}" />\n</appSettings>\n', "wireguard": "[Interface]\nAddress = 10.0.0.1/24\nPrivateKey = {k}\n", "wireguard-psk": "[Peer]\nPresharedKey = {k}\n", "wpa": 'network={{\n  ssid="acme"\n  psk="{v}"\n}}\n', "wpa-hex": "network={{\n  ssid=\"acme\"\n  psk={x}\n}}\n", "ldif": "dn: uid=bob,dc=acme,dc=test\nuserPassword: {{SSHA}}{h28}\n", "ldif-plain": "dn: uid=bob,dc=acme\nuserPassword: {v}\n", "shadow": "root:$6${h8}${h86}:19000:0:99999:7:::\nbob:$6${g8}${g86}:19000:0:99999:7:::\n", "ansible": "[web]\nweb1 ansible_user=bob ansible_password={v}\n", "ansible-become": "web1 ansible_become_pass={v} ansible_host=10.0.0.2\n",
    "git-credentials": "https://bob:{v}@git.acme.test\n", "s3cfg": "[default]\naccess_key = x\nsecret_key = {v}\n", "boto": "[Credentials]\naws_secret_access_key = {a}\n", "cargo": '[registry]\ntoken = "{v}"\n', "nuget": '<packageSourceCredentials><acme><add key="Username" value="b" /><add key="ClearTextPassword" value="{v}" /></acme></packageSourceCredentials>\n', "gradle": "signing.keyId=24875D73\nsigning.password={v}\n", "erlang-cookie": "{u20}", "rails-master": "{x32}", "rails-secrets": "production:\n  secret_key_base: {x}\n",
    "bundle": "BUNDLE_GEMS__ACME__COM: bob:{v}\n", "composer": '{{"github-oauth": {{"github.com": "{x40}"}}}}\n', "composer-basic": '{{"http-basic": {{"repo.acme.test": {{"username": "bob", "password": "{v}"}}}}}}\n', "muttrc": 'set imap_pass = "{v}"\n', "msmtp": "account default\nhost smtp.acme.test\nuser bob\npassword {v}\n", "sasl": "[smtp.acme.test]:587 bob@acme.test:{v}\n", "proftpd": "bob:$1${h8}${h22}:1000:1000::/home/bob:/bin/false\n", "ipsec": ': PSK "{v}"\n', "chap": "# client server secret ip\nbob * {v} *\nann * {w} *\n", "cisco": "enable secret 5 $1${h4}${h22}\nusername bob password 0 {v}\n",
    "snmp": "rocommunity {v}\n", "radius": "client 10.0.0.1 {{\n  secret = {v}\n}}\n", "tomcat": '<user username="bob" password="{v}" roles="manager"/>\n', "jenkins": "<hudson.Secret><password>{v}</password></hudson.Secret>\n", "grafana-ini": "[security]\nadmin_user = admin\nadmin_password = {v}\n", "rabbit": "default_user = bob\ndefault_pass = {v}\n", "mongo-url": "mongodb+srv://bob:{v}@c0.acme.test/x\n", "amqp": "amqp://bob:{v}@mq.acme.test:5672/v\n", "celery-redis": "redis://:{v}@cache.acme.test:6379/0\n", "smb": "username=bob\npassword={v}\ndomain=ACME\n", "rclone": "[acme]\ntype = sftp\nuser = bob\npass = {v}\n",
    "winscp": "[Sessions\\acme]\nHostName=h\nUserName=bob\nPassword={x64u}\n", "curl-user": "curl -u bob:{v} https://api.acme.test/x\n", "sshpass": "sshpass -p '{v}' ssh bob@h.acme.test\n", "mysql-p": "mysql -u root -p{v} orders\n", "docker-login": "docker login -u bob -p {v} registry.acme.test\n", "psql-env": "PGPASSWORD={v} psql -h db -U app\n", "create-user": "CREATE USER bob IDENTIFIED BY '{v}';\n", "alter-role": "ALTER ROLE bob WITH ENCRYPTED PASSWORD '{v}';\n", "basic-header": "Authorization: Basic {b}\n", "bearer-header": "Authorization: Bearer {v2}\n", "terraformrc": 'credentials "app.terraform.io" {{\n  token = "{v2}"\n}}\n', "tfvars": 'db_password = "{v}"\n', "gh-hosts": "github.com:\n    user: bob\n    oauth_token: {x40}\n", "jwk": '{{"kty":"oct","kid":"1","k":"{q}"}}\n', "putty": "PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nPrivate-Lines: 2\n{l64}\n{m64}\n", "cookie-file": ".acme.test\tTRUE\t/\tTRUE\t1999999999\tsession_token\t{v2}\n", "postman": '{{"key": "apiKey", "value": "{v2}", "type": "string"}}\n', "env-js": "window.ENV = {{ ADMIN_PASSWORD: '{v}' }};\n", "hibernate": '<property name="hibernate.connection.password">{v}</property>\n', "log4j-mail": "log4j.appender.mail.SMTPPassword={v}\n", "vagrant": 'config.ssh.password = "{v}"\n', "dbvis": "<Password>{v}</Password>\n", "esmtp": "username bob\npassword {v}\n", "ventrilo": "[Server]\nAdminPassword={v}\n", "mongoid": "      password: '{v}'\n", "elixir-prod": '  password: "{v}",\n', "robomongo": '"userPassword" : "{v}",\n', "s3-js": "conn.login('bob@acme.test', '{v}', function(err) {{}});\n", "vnc": "Password={x16}\n", "anaconda": "rootpw --plaintext {v}\n", "unattend": "<AdministratorPassword><Value>{v}</Value></AdministratorPassword>\n",
}  # fmt: skip
SPLIT = {
    "python-plus": 's = "{1}" + "{2}"', "python-adjacent": 's = ("{1}"\n     "{2}")', "python-backslash": 's = "{1}" \\\n    "{2}"', "python-join": 's = "".join(["{1}", "{2}"])', "python-append": 's = "{1}"\ns += "{2}"', "python-vars": 'a = "{1}"\nb = "{2}"\n{n} = a + b', "python-fstring": 'a = "{1}"\nb = "{2}"\n{n} = f"{{a}}{{b}}"', "python-three": 's = "{1}" + "{2}" + "{3}"', "python-format": 's = "%s%s" % ("{1}", "{2}")', "js-plus": "const s = '{1}' +\n  '{2}';", "js-join": "const s = ['{1}', '{2}', '{3}'].join('');", "js-template": "const a = '{1}', b = '{2}';\nconst {n} = `${{a}}${{b}}`;", "js-concat": "const s = '{1}'.concat('{2}');",
    "java": 'String s = "{1}"\n    + "{2}";', "java-builder": 'new StringBuilder("{1}").append("{2}")', "go": 's := "{1}" +\n\t"{2}"', "go-join": 's := strings.Join([]string{{"{1}", "{2}"}}, "")', "php": "$s = '{1}' . '{2}';", "php-append": "$s = '{1}';\n$s .= '{2}';", "ruby": "s = '{1}' \\\n  '{2}'", "ruby-shovel": "s = '{1}'\ns << '{2}'", "perl": 'my $s = "{1}" . "{2}";', "lua": 'local s = "{1}" .. "{2}"', "c": 'const char *s = "{1}"\n  "{2}";', "csharp": 'var s = "{1}" + "{2}";', "vb": 's = "{1}" & _\n    "{2}"', "sql": "SELECT '{1}' || '{2}';", "shell-vars": 'A="{1}"\nB="{2}"\nexport {n}="${{A}}${{B}}"', "shell-append": '{n}="{1}"\n{n}+="{2}"', "shell-continued": 'export {n}={1}\\\n{2}', "yaml-folded": "{n}: >-\n  {1}\n  {2}", "yaml-literal": "{n}: |\n  {1}\n  {2}", "yaml-quoted": '{n}: "{1}\\\n  {2}"', "properties": "{n}={1}\\\n    {2}", "makefile": "{n} = {1}\\\n{2}", "terraform": '{n} = join("", ["{1}", "{2}"])', "elixir": 's = "{1}" <> "{2}"', "haskell": 's = "{1}" ++ "{2}"', "r": 's <- paste0("{1}", "{2}")', "kotlin": 'val s = "{1}" +\n    "{2}"', "rust": 'let s = concat!("{1}", "{2}");', "swift": 'let s = "{1}" +\n  "{2}"', "json-array": '"{n}": ["{1}", "{2}"],', "powershell": "$s = '{1}' + '{2}'", "sprintf": 'fmt.Sprintf("%s%s", "{1}", "{2}")', "heredoc": "{n} = <<-EOT\n  {1}\n  {2}\nEOT", "cloudformation": '{n}: !Join ["", ["{1}", "{2}"]]',
}  # fmt: skip


@dataclass(frozen=True)
class Wide:
    """One planting: family (prefixed, named, file, split), type, style, the text and the value's parts in it."""

    family: str
    type: str
    style: str
    text: str
    parts: tuple[str, ...]


def spelled(rng: random.Random, name: str) -> dict[str, str]:
    parts = name.lower().split("_")
    camel = parts[0] + "".join(p.title() for p in parts[1:])
    return {
        "N": name, "s": "_".join(parts), "k": "-".join(parts), "d": ".".join(parts), "w": " ".join(parts), "c": camel,
        "C": camel[0].upper() + camel[1:], "K": "-".join(p.title() for p in parts),
    }  # fmt: skip


def drawn(rng: random.Random, form: str) -> str:
    words = ("Summer", "dragon", "Winter", "letmein", "monkey", "Acme", "Falcon", "sunshine")
    form = form.replace("{word:1}", rng.choice(words))
    return pattern(form, human=HUMAN, low=string.ascii_lowercase + "234567")(rng)


def secret_of(value: str) -> str:
    if "://svc:" in value:
        return value.split(":")[2].split("@")[0]
    for before, after in (("AccountKey=", ";"), ("sig=", "\n")):
        if before in value:
            return value.split(before)[1].split(after)[0]
    return value


def plantings(seed: int, each: int) -> Iterator[Wide]:
    for family, types in (("prefixed", PREFIXED), ("named", NAMED)):
        for type_, row in types.items():
            for number in range(each * 8):
                rng = random.Random(f"{seed}/{family}/{type_}/{number}")
                form, names = (row, " ".join(NEUTRAL)) if isinstance(row, str) else row
                value, style = drawn(rng, form), rng.choice(list(STYLES))
                text = STYLES[style].format(v=value, **spelled(rng, rng.choice(names.split())))
                yield Wide(family, type_, style, text, (secret_of(value),))
    for type_, form in FILES.items():
        for number in range(each * 2):
            rng = random.Random(f"{seed}/file/{type_}/{number}")
            password = drawn(
                rng,
                rng.choice(
                    ("{alnum:16}", "{human:14}", "{word:1}{digits:4}", "{alnum:24}", "{hex:32}")
                ).replace("{human:14}", "{alnum:13}!"),
            )
            fields = {
                "v": password, "w": drawn(rng, "{alnum:18}"), "b": base64.b64encode(f"bob:{password}".encode()).decode(), "e": base64.b64encode(password.encode()).decode(), "v2": drawn(rng, "{alnum:36}"),
                "k": base64.b64encode(rng.randbytes(32)).decode(), "l": base64.b64encode(rng.randbytes(900)).decode(), "x": drawn(rng, "{hex:64}"), "x32": drawn(rng, "{hex:32}"), "x40": drawn(rng, "{hex:40}"), "x16": drawn(rng, "{hex:16}"), "x64u": drawn(rng, "{hex:64}").upper(), "a": drawn(rng, "{base64:40}"), "u20": drawn(rng, "{up:20}".replace("up", "base32")), "q": drawn(rng, "{url:43}"),
                "l64": drawn(rng, "{base64:64}"), "m64": drawn(rng, "{base64:60}"), **{f"{c}{n}": drawn(rng, f"{{alnum:{n}}}") for c in "hg" for n in (4, 8, 22, 28, 86)},
            }  # fmt: skip
            text = form.format(**fields)
            main = next(f for f in re.findall(r"(?<!\{)\{(\w+)\}", form))
            parts = tuple(
                fields[f] for f in dict.fromkeys(re.findall(r"(?<!\{)\{(\w+)\}(?!\})", form) or [main])
            )
            yield Wide("file", type_, "file", text, parts)
    for style, form in SPLIT.items():
        for number in range(each * 4):
            rng = random.Random(f"{seed}/split/{style}/{number}")
            if rng.random() < 0.5:
                type_ = rng.choice(
                    [
                        "sonar",
                        "tailscale",
                        "groq",
                        "netlify",
                        "supabase",
                        "unheard-of",
                        "digitalocean-refresh",
                        "rubygems",
                        "buildkite",
                    ]
                )
                value, name = drawn(rng, PREFIXED[type_]), rng.choice(NEUTRAL).lower()
            else:
                type_ = rng.choice(["hex32", "hex64", "url-43", "alnum-32", "base64-32", "alnum-40"])
                value, name = drawn(rng, NAMED[type_][0]), rng.choice(NAMED[type_][1].split()).lower()
            pieces = 3 if "{3}" in form else 2
            cuts = sorted(rng.sample(range(6, len(value) - 6), pieces - 1))
            parts = [value[a:b] for a, b in zip([0, *cuts], [*cuts, len(value)], strict=True)]
            text = form
            if "{n}" not in form and type_ in NAMED:
                text = re.sub(r"\bs\b(?=\s*(?:=|:=|<-|<<|\+=|\.=))", name, text)
            text = text.format(*["", *parts], n=name)
            yield Wide("split", f"{style}", type_, text, tuple(parts))


def judged(scanner: CredentialScanner, planting: Wide, host: tuple[bytes, bytes]) -> tuple[bool, float]:
    """(every byte of every part is in a span, the least bits of a finding that covers some of it)."""
    content = host[0] + planting.text.encode() + b"\n" + host[1]
    start = len(host[0])
    found = [(d.start, d.end, d) for d in scanner.scan(content)]
    bits, complete = 999.0, True
    for part in planting.parts:
        at = content.find(part.encode(), start)
        start = at + len(part)
        held = bytearray(len(part))
        for a, b, d in found:
            if a < start and b > at:
                low, high = max(a, at) - at, min(b, start) - at
                held[low:high] = b"\1" * (high - low)
                if d.value in ("".join(planting.parts).encode(), part.encode()):
                    bits = min(bits, guess_bits(d.rule, d.value))
        complete &= all(held)
    return complete, bits


def hosts(rng: random.Random) -> list[tuple[bytes, bytes]]:
    import sysconfig

    files = sorted(
        p for p in Path(sysconfig.get_path("stdlib")).glob("*.py") if 2000 < p.stat().st_size < 20_000
    )
    texts = [p.read_bytes().splitlines(keepends=True) for p in rng.sample(files, 40)]
    return [(b"".join(t[: (n := rng.randrange(1, len(t)))]), b"".join(t[n:])) for t in texts]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=1)
    parser.add_argument("--end-to-end", action="store_true")
    parser.add_argument(
        "--show",
        type=int,
        default=0,
        help="so many missed plantings of a family (made up, none is anybody's)",
    )
    arguments = parser.parse_args()
    made = list(plantings(arguments.seed, arguments.each))
    rng = random.Random(arguments.seed)
    places = hosts(rng)
    chosen = [(b"", b"") if p.family == "file" else rng.choice(places) for p in made]
    scanner = CredentialScanner()
    if arguments.end_to_end:
        found, weak = end_to_end(made, chosen)
    else:
        results = [judged(scanner, p, host) for p, host in zip(made, chosen, strict=True)]
        found = [ok for ok, _ in results]
        weak = sum(
            ok and bits < WEAK_BITS and p.family != "file" and "password" not in p.type
            for (ok, bits), p in zip(results, made, strict=True)
        )
    table: dict[str, list[int]] = {}
    missed: Counter[tuple[str, str]] = Counter()
    shown: Counter[str] = Counter()
    for p, ok in zip(made, found, strict=True):
        row = table.setdefault(p.family, [0, 0])
        row[0] += ok
        row[1] += 1
        if not ok:
            missed[p.family, p.type] += 1
            missed[p.family + " style", p.style] += p.family in ("prefixed", "named")
            shown[p.family] += 1
            if shown[p.family] <= arguments.show:
                print(f"missed {p.family} {p.type} {p.style}: {p.text!r}")
    for family, (hits, of) in table.items():
        print(f"{family:<10}{100 * hits / of:6.1f} % ({hits}/{of})")
    hits, of = (sum(column) for column in zip(*table.values(), strict=True))
    print(f"{'all':<10}{100 * hits / of:6.1f} % ({hits}/{of}); found and under {WEAK_BITS:.0f} bits: {weak}")
    for (family, what), n in missed.most_common(60):
        print(f"  {family}: {what} {n}x")


def end_to_end(made: list[Wide], chosen: list[tuple[bytes, bytes]]) -> tuple[list[bool], int]:
    from credential_peers import Planting
    from credential_recall import Covered, commit

    made_into = []
    for n, (p, host) in enumerate(zip(made, chosen, strict=True)):
        content, at, pieces = host[0] + p.text.encode() + b"\n" + host[1], len(host[0]), []
        for part in p.parts:
            start = content.find(part.encode(), at)
            at = start + len(part)
            pieces.append((start, at))
        made_into.append(
            Planting(
                p.type,
                p.style,
                f"{p.family}/{n}/file.txt",
                content,
                len(host[0]),
                len(host[0]) + len(p.text.encode()),
                tuple(pieces),
            )
        )
    anchor = {"anchor": b"ghp_" + drawn(random.Random(0), "{alnum:36}").encode() + b"\n"}
    with tempfile.TemporaryDirectory(prefix="hush-wide-") as folder:
        covered = Covered(commit(Path(folder) / "r.git", anchor | {p.path: p.content for p in made_into}))
        control = Covered(commit(Path(folder) / "c.git", anchor | {p.path: p.crossed_out for p in made_into}))
    results = [covered.judge(p) for p in made_into]
    found = [every and not control.judge(p)[0] for p, (every, _) in zip(made_into, results, strict=True)]
    return found, sum(f and dropped for f, (_, dropped) in zip(found, results, strict=True))


if __name__ == "__main__":
    main()
