# ruff: noqa: E501
"""Ways in which people write credentials down: the styles of the fourth set (`outside_blind.py`).

Rules were tuned on it on 2026-11-27: it is no hold-out since. Written on 2026-11-26 by a reviewer who had read no rule and none of the earlier hold-outs' styles.

One line a style: name ¦ endings of host files, or a path of its own ¦ families of values ¦ text. In the text ⏎ is a
line break, ⇥ a tab, ⟦⟧ the entry where it is not the whole text; {v} the value; {n} {N} {c} {P} {k} its name in
snake_case, UPPER_CASE, camelCase, PascalCase and kebab-case; {u} {h} a user and a host; {C} a whole connection
string; ‹b64 …› ‹b64url …› ‹hex …› ‹url …› ‹gz …› what stands in it, encoded; {b:FORM} a key's bytes in that form.

Families: S strong password, H human password, W passphrase, P a mix of the three (lower case: only URL-safe
symbols, no blanks), T token with a vendor's form, K key without one (A: of AWS), C connection string, B bytes, M PEM.
"""

from outside_fourth_more import BYTES, DOCUMENTS, LANGUAGES, OPTIONS, WRAPPED

DIRECT = """
python constant ¦ .py ¦ PTK ¦ {N} = "{v}"
python attribute ¦ .py ¦ PTK ¦ self.{n} = '{v}'
python dict entry ¦ .py ¦ PTK ¦     "{n}": "{v}",
python keyword argument ¦ .py ¦ PTK ¦ client = connect(host="{h}", {n}="{v}", timeout=30)
python typed constant ¦ .py ¦ STK ¦ {N}: Final[str] = "{v}"
python environ ¦ .py ¦ PTK ¦ os.environ["{N}"] = "{v}"
python fallback of getenv ¦ .py ¦ PTK ¦ {n} = os.getenv("{N}", "{v}")
typescript const ¦ .ts ¦ PTK ¦ export const {c} = '{v}';
typescript class field ¦ .ts ¦ PTK ¦   private readonly {c}: string = '{v}';
javascript nullish ¦ .js .ts ¦ PTK ¦ const {c} = process.env.{N} ?? '{v}';
java constant ¦ .java ¦ PTK ¦     private static final String {N} = "{v}";
java setter ¦ .java ¦ PTK ¦         config.set{P}("{v}");
java annotation default ¦ .java ¦ PTK ¦     @Value("${app.{k}:{v}}")
c# const ¦ .cs ¦ PTK ¦     public const string {P} = "{v}";
c# verbatim initialiser ¦ .cs ¦ STK ¦             var options = new ClientOptions { Endpoint = "{h}", {P} = @"{v}" };
rust const ¦ .rs ¦ PTK ¦ const {N}: &str = "{v}";
rust struct field ¦ .rs ¦ STK ¦         {n}: "{v}".to_string(),
go const ¦ .go ¦ PTK ¦ const {c} = "{v}"
go raw string ¦ .go ¦ STK ¦ var {c} = `{v}`
go struct literal ¦ .go ¦ PTK ¦ cfg := Config{Host: "{h}", {P}: "{v}"}
php define ¦ .php ¦ PTK ¦ define('{N}', '{v}');
php array ¦ .php ¦ PTK ¦     '{n}' => '{v}',
php env fallback ¦ .php ¦ PTK ¦     '{n}' => env('{N}', '{v}'),
ruby hash ¦ .rb ¦ PTK ¦   config.{n} = '{v}'
ruby symbol key ¦ .rb ¦ PTK ¦   {n}: '{v}',
kotlin val ¦ .kt ¦ PTK ¦ private const val {N} = "{v}"
swift let ¦ .swift ¦ PTK ¦     static let {c} = "{v}"
scala val ¦ .scala ¦ PTK ¦   val {c}: String = "{v}"
elixir config ¦ config/prod.exs ¦ PTK ¦ import Config⏎⏎config :shop, Shop.Repo,⏎⟦  {n}: "{v}",⟧⏎  pool_size: 10⏎
lua table ¦ .lua ¦ STK ¦   {n} = "{v}",
perl hash ¦ .pl ¦ STK ¦     {n} => '{v}',
r assignment ¦ analysis.R ¦ STK ¦ library(DBI)⏎⟦{n} <- "{v}"⟧⏎con <- dbConnect(odbc(), "dw")⏎
matlab ¦ upload.m ¦ STK ¦ function upload(f)⏎⟦{n} = '{v}';⟧⏎webwrite(url, f);⏎end⏎
c define ¦ .h ¦ PTK ¦ #define {N} "{v}"
arduino ¦ sensor.ino ¦ S ¦ #include <WiFi.h>⏎⟦const char* ssid = "attic";⏎const char* password = "{v}";⟧⏎void setup() {}⏎
dart const ¦ .dart ¦ PTK ¦ const String {c} = '{v}';
powershell variable ¦ .ps1 ¦ PTK ¦ ${P} = '{v}'
bash export ¦ .sh ¦ PTK ¦ export {N}='{v}'
bash default ¦ .sh ¦ sTK ¦ {N}="${{N}:-{v}}"
batch set ¦ .bat ¦ sTK ¦ set {N}={v}
makefile ¦ Makefile ¦ sTK ¦ IMAGE ?= shop⏎⟦{N} := {v}⟧⏎⏎all:⏎⇥docker build .⏎
dockerfile env ¦ Dockerfile ¦ sTK ¦ FROM alpine:3.19⏎⟦ENV {N}={v}⟧⏎RUN apk add curl⏎
dotenv ¦ .env ¦ pTK ¦ APP_ENV=production⏎⟦{N}={v}⟧⏎LOG_LEVEL=info⏎
properties ¦ .properties ¦ PTK ¦ app.mail.{k}={v}
ini ¦ settings.ini ¦ PTK ¦ [server]⏎port = 8080⏎⟦{n} = {v}⟧⏎
toml ¦ .toml ¦ PTK ¦ {n} = "{v}"
yaml plain ¦ .yml ¦ pTK ¦ {n}: {v}
yaml quoted ¦ .yml ¦ PTK ¦ {k}: '{v}'
compose list ¦ docker-compose.yml ¦ pTK ¦ services:⏎  app:⏎    image: shop⏎    environment:⏎⟦      - {N}={v}⟧⏎
json ¦ appsettings.json ¦ PTK ¦ {⏎  "port": 80,⏎⟦  "{P}": "{v}",⟧⏎  "debug": false⏎}⏎
xml element ¦ settings.xml ¦ PTK ¦ <config>⏎⟦  <{c}>{v}</{c}>⟧⏎</config>⏎
xml attribute ¦ context.xml ¦ PTK ¦ <Context>⏎⟦  <Resource name="jdbc/x" username="{u}" {c}="{v}"/>⟧⏎</Context>⏎
terraform ¦ .tf ¦ PTK ¦   {n} = "{v}"
bicep ¦ .bicep ¦ STK ¦ var {c} = '{v}'
plist ¦ Info.plist ¦ STK ¦ <plist><dict>⏎⟦<key>{P}</key>⏎<string>{v}</string>⟧⏎</dict></plist>⏎
nix ¦ default.nix ¦ STK ¦ {⏎  enable = true;⏎⟦  {c} = "{v}";⟧⏎}⏎
connection in code ¦ .py .ts .java .cs .rs .php ¦ C ¦ {c} = "{C}";
connection in dotenv ¦ .env ¦ C ¦ PORT=80⏎⟦{N}={C}⟧⏎DEBUG=0⏎
connection in yaml ¦ .yml ¦ C ¦ {n}: "{C}"
connection in json ¦ config.json ¦ C ¦ {⏎⟦  "{c}": "{C}"⟧⏎}⏎
"""

CHOSEN = """
dotenv ¦ .env ¦ hw ¦ APP=1⏎⟦{N}={v}⟧⏎TZ=UTC⏎
dotenv quoted ¦ .env ¦ HW ¦ APP=1⏎⟦{N}="{v}"⟧⏎TZ=UTC⏎
yaml ¦ .yml ¦ HW ¦ {n}: {v}
yaml quoted ¦ .yml ¦ HW ¦ {n}: "{v}"
properties ¦ .properties ¦ HW ¦ spring.datasource.{k}={v}
python ¦ .py ¦ HW ¦ {N} = "{v}"
python keyword ¦ .py ¦ HW ¦ conn = pymysql.connect(user="{u}", {n}="{v}")
typescript ¦ .ts ¦ HW ¦ const {c} = '{v}';
java ¦ .java ¦ HW ¦ String {c} = "{v}";
c# ¦ .cs ¦ HW ¦ public string {P} { get; set; } = "{v}";
rust ¦ .rs ¦ HW ¦ let {n} = "{v}";
go ¦ .go ¦ HW ¦ {c} := "{v}"
php ¦ .php ¦ HW ¦ ${n} = '{v}';
ruby ¦ .rb ¦ HW ¦ {N} = '{v}'
json ¦ users.json ¦ HW ¦ {⏎  "user": "{u}",⏎⟦  "{c}": "{v}"⟧⏎}⏎
toml ¦ .toml ¦ HW ¦ {n} = "{v}"
ini ¦ my.cnf ¦ HW ¦ [client]⏎user={u}⏎⟦{n}={v}⟧⏎
terraform variable ¦ .tf ¦ HW ¦ variable "{n}" {⏎  default = "{v}"⏎}
url ¦ .py .ts .yml ¦ hw ¦ url: "postgresql://{u}:{v}@{h}:5432/shop"
shell ¦ .sh ¦ HW ¦ {N}='{v}'
wpa_supplicant ¦ wpa_supplicant.conf ¦ HW ¦ country=DE⏎network={⏎  ssid="attic"⏎⟦  psk="{v}"⟧⏎}⏎
netrc ¦ .netrc ¦ hw ¦ machine {h}⏎login {u}⏎⟦password {v}⟧⏎
ansible inventory ¦ hosts.ini ¦ hw ¦ [web]⏎⟦{h} ansible_user={u} ansible_password={v}⟧⏎
helm values ¦ values.yaml ¦ HW ¦ auth:⏎  username: {u}⏎⟦  password: {v}⟧⏎
test login ¦ .ts .js ¦ HW ¦ await page.fill('#password', '{v}');
"""

DECODED = """
json in base64, yaml ¦ .yml ¦ pT ¦ data: ‹b64 {"user":"{u}","password":"{v}"}›
json in base64, python ¦ .py ¦ PT ¦ BLOB = "‹b64 {"username": "{u}", "password": "{v}", "ttl": 60}›"
json in base64, env ¦ .env ¦ PT ¦ A=1⏎⟦CONFIG_B64=‹b64 {"db":{"host":"{h}","password":"{v}"}}›⟧⏎
kubernetes secret ¦ secret.yaml ¦ PTK ¦ apiVersion: v1⏎kind: Secret⏎metadata: {name: s}⏎data:⏎⟦  {n}: ‹b64 {v}›⟧⏎
kubernetes secret, config file ¦ sealed.yaml ¦ PT ¦ kind: Secret⏎data:⏎⟦  app.ini: ‹b64 [db]⏎user={u}⏎password={v}⏎›⟧⏎
docker auth ¦ config.json ¦ pT ¦ {"auths": {⏎⟦  "https://{h}/v1/": {"auth": "‹b64 {u}:{v}›"}⟧⏎}}⏎
basic header, yaml ¦ .yml ¦ pT ¦ Authorization: "Basic ‹b64 {u}:{v}›"
basic header, typescript ¦ .ts ¦ pTK ¦ headers: { Authorization: 'Basic ‹b64 {u}:{v}›' },
basic header, http file ¦ api.http ¦ pT ¦ GET https://{h}/v1/me⏎⟦Authorization: Basic ‹b64 {u}:{v}›⟧⏎
basic header, curl ¦ .sh ¦ pT ¦ curl -H "Authorization: Basic ‹b64 {u}:{v}›" https://{h}/api
basic header, java ¦ .java ¦ pT ¦ request.addHeader("Authorization", "Basic ‹b64 {u}:{v}›");
npmrc auth ¦ .npmrc ¦ pK ¦ registry=https://{h}/⏎⟦//{h}/:_auth=‹b64 {u}:{v}›⟧⏎
npmrc password ¦ .npmrc ¦ p ¦ //{h}/:username={u}⏎⟦//{h}/:_password=‹b64 {v}›⟧⏎
atob ¦ .js .ts ¦ PT ¦ const cfg = JSON.parse(atob('‹b64 {"login":"{u}","pass":"{v}"}›'));
b64decode ¦ .py ¦ PTK ¦ {n} = base64.b64decode("‹b64 {v}›").decode()
echo into base64 -d ¦ .sh ¦ PT ¦ echo ‹b64 DB_USER={u}⏎DB_PASSWORD={v}⏎› | base64 -d > .env
cloud-init user data ¦ .tf ¦ PT ¦ user_data = "‹b64 #!/bin/sh⏎export DB_PASSWORD='{v}'⏎systemctl start app⏎›"
connection in base64 ¦ .yml ¦ pT ¦ dsn: ‹b64 postgres://{u}:{v}@{h}:5432/app›
java getDecoder ¦ .java ¦ PT ¦ var raw = Base64.getDecoder().decode("‹b64 user={u}&password={v}›");
c# FromBase64String ¦ .cs ¦ PT ¦ var s = Convert.FromBase64String("‹b64 Server={h};User Id={u};Password={v};›");
php base64_decode ¦ .php ¦ PTK ¦ ${n} = base64_decode('‹b64 {v}›');
url-safe base64 state ¦ .py .ts ¦ PT ¦ state = "‹b64url {"client_secret":"{v}","u":"{u}"}›"
base64 twice ¦ .yml ¦ PT ¦ payload: ‹b64 ‹b64 {"user":"{u}","password":"{v}"}››
json in hex ¦ .py ¦ PT ¦ payload = bytes.fromhex("‹hex {"user":"{u}","password":"{v}"}›")
assignment in hex ¦ .rs ¦ PT ¦ let raw = hex::decode("‹hex password={v}›").unwrap();
hex, php ¦ .php ¦ PT ¦ $c = hex2bin('‹hex {"user":"{u}","password":"{v}"}›');
sql hex literal ¦ .sql ¦ PT ¦ INSERT INTO settings VALUES (7, x'‹hex {"smtp_password":"{v}"}›');
url-encoded form ¦ .sh ¦ S ¦ curl -d 'user={u}&password=‹url {v}›' https://{h}/login
url-encoded json ¦ .py .ts ¦ ST ¦ url = "https://{h}/cb?cfg=‹url {"user":"{u}","password":"{v}"}›"
url-encoded in connection ¦ .yml ¦ S ¦ url: amqp://{u}:‹url {v}›@{h}:5672/
gzip and base64 ¦ .yml ¦ PT ¦ release: ‹gz {"config":{"user":"{u}","password":"{v}"}}›
"""

COLUMNS = """
csv users ¦ users.csv ¦ PT ¦ host,user,password,role⏎h1,{u},{w},admin⏎⟦{h},{u},{v},viewer⟧⏎
csv quoted ¦ accounts.csv ¦ P ¦ "id","login","pass","active"⏎⟦"17","{u}","{v}","1"⟧⏎
csv semicolon ¦ zugang.csv ¦ P ¦ server;benutzer;passwort⏎⟦{h};{u};{v}⟧⏎
csv api keys ¦ keys.csv ¦ TK ¦ service,owner,api_key,created⏎⟦billing,{u},{v},2024-02-11⟧⏎
aws console csv ¦ accessKeys.csv ¦ A ¦ User name,Access key ID,Secret access key⏎⟦{u},AKIA{x16},{v}⟧⏎
tsv ¦ devices.tsv ¦ PK ¦ name⇥ip⇥username⇥password⏎⟦sw1⇥10.0.0.7⇥{u}⇥{v}⟧⏎
bitwarden export ¦ bitwarden.csv ¦ P ¦ folder,favorite,type,name,notes,fields,login_uri,login_username,login_password,login_totp⏎⟦,,login,{h},,,https://{h},{u},{v},⟧⏎
chrome export ¦ Passwords.csv ¦ P ¦ name,url,username,password,note⏎⟦{h},https://{h}/,{u},{v},⟧⏎
lastpass export ¦ lastpass.csv ¦ P ¦ url,username,password,totp,extra,name,grouping,fav⏎⟦https://{h},{u},{v},,,{h},,0⟧⏎
1password export ¦ export.csv ¦ P ¦ Title,Url,Username,Password,OTPAuth⏎⟦{h},https://{h},{u},{v},⟧⏎
firefox export ¦ logins.csv ¦ P ¦ "url","username","password","httpRealm"⏎⟦"https://{h}","{u}","{v}",⟧⏎
keepass export ¦ keepass.csv ¦ P ¦ "Account","Login Name","Password","Web Site","Comments"⏎⟦"{h}","{u}","{v}","https://{h}",""⟧⏎
pipe separated ¦ creds.txt ¦ P ¦ host|login|password⏎⟦{h}|{u}|{v}⟧⏎
fixed width ¦ logins.txt ¦ p ¦ HOST              USER        PASSWORD⏎⟦{h}    {u}       {v}⟧⏎
postgres copy ¦ dump.sql ¦ PT ¦ COPY public.accounts (id, login, password, email) FROM stdin;⏎⟦4⇥{u}⇥{v}⇥{u}@example.org⟧⏎\\.⏎
insert with columns ¦ .sql ¦ PTK ¦ INSERT INTO users (name, password, role) VALUES ('{u}', '{v}', 'admin');
insert several rows ¦ .sql ¦ PT ¦ INSERT INTO smtp (host, login, passwd) VALUES⏎  ('{h}', '{u}', '{w}'),⏎  ('mx2', '{u}', '{v}');
insert backticks ¦ .sql ¦ PT ¦ INSERT INTO `config` (`id`,`api_user`,`api_secret`) VALUES (3,'{u}','{v}');
update set ¦ .sql ¦ PTK ¦ UPDATE accounts SET password = '{v}' WHERE login = '{u}';
insert key-value row ¦ .sql ¦ PTK ¦ INSERT INTO settings (name, value) VALUES ('{n}', '{v}');
create user mysql ¦ .sql ¦ P ¦ CREATE USER '{u}'@'%' IDENTIFIED BY '{v}';
create role postgres ¦ .sql ¦ P ¦ CREATE ROLE {u} WITH LOGIN ENCRYPTED PASSWORD '{v}';
alter login mssql ¦ .sql ¦ P ¦ ALTER LOGIN {u} WITH PASSWORD = N'{v}';
grant identified ¦ .sql ¦ P ¦ GRANT ALL ON shop.* TO '{u}'@'localhost' IDENTIFIED BY '{v}';
oracle identified ¦ .sql ¦ p ¦ ALTER USER {u} IDENTIFIED BY "{v}" ACCOUNT UNLOCK;
set password ¦ .sql ¦ P ¦ SET PASSWORD FOR '{u}'@'localhost' = PASSWORD('{v}');
pgcrypto ¦ .sql ¦ PK ¦ SELECT pgp_sym_decrypt(card, '{v}') FROM payments;
create secret duckdb ¦ .sql ¦ A ¦ CREATE SECRET s3 (TYPE S3, KEY_ID 'AKIA{x16}', SECRET '{v}');
snowflake stage ¦ .sql ¦ A ¦ CREATE STAGE s URL='s3://b' CREDENTIALS=(AWS_KEY_ID='AKIA{x16}' AWS_SECRET_KEY='{v}');
dblink ¦ .sql ¦ p ¦ SELECT * FROM dblink('host={h} user={u} password={v} dbname=x', 'SELECT 1') AS t(a int);
user mapping ¦ .sql ¦ P ¦ CREATE USER MAPPING FOR app SERVER f OPTIONS (user '{u}', password '{v}');
json rows with header ¦ rows.json ¦ PT ¦ {"columns": ["host", "user", "password"],⏎ "rows": [⏎⟦  ["{h}", "{u}", "{v}"]⟧⏎]}⏎
python rows ¦ .py ¦ P ¦ ACCOUNTS = [  # (login, password, role)⏎    ("{u}", "{v}", "editor"),⏎]
"""

APART = """
key and value object ¦ params.json ¦ PTK ¦ [⏎⟦  {"key": "{n}", "value": "{v}"}⟧⏎]⏎
name and value on lines ¦ env.json ¦ PTK ¦ {"environment": [⏎  {⏎⟦    "name": "{N}",⏎    "value": "{v}"⟧⏎  }⏎]}⏎
kubernetes env ¦ .yml ¦ PTK ¦ - name: {N}⏎  value: "{v}"
ecs reversed ¦ taskdef.json ¦ PTK ¦ {"containerDefinitions": [{"environment": [⏎⟦  {"value": "{v}", "name": "{N}"}⟧⏎]}]}⏎
cloudformation default ¦ stack.yaml ¦ PTK ¦ Parameters:⏎⟦  {P}:⏎    Type: String⏎    NoEcho: true⏎    Default: {v}⟧⏎
cloudformation parameters ¦ prod.json ¦ PT ¦ [⏎⟦  {"ParameterKey": "{P}", "ParameterValue": "{v}"}⟧⏎]⏎
arm parameters ¦ azuredeploy.parameters.json ¦ PTK ¦ {"parameters": {⏎⟦  "{c}": {⏎    "value": "{v}"⏎  }⟧⏎}}⏎
terraform set block ¦ .tf ¦ PTK ¦   set {⏎    name  = "auth.{c}"⏎    value = "{v}"⏎  }
terraform default ¦ .tf ¦ PTK ¦ variable "{n}" {⏎  type      = string⏎  sensitive = true⏎  default   = "{v}"⏎}
yaml anchor ¦ .yml ¦ pT ¦ {n}: &{n} {v}
yaml block scalar ¦ .yml ¦ PTK ¦ {n}: |-⏎  {v}
yaml folded value ¦ .yml ¦ PK ¦ {n}: >-⏎  {v}
keepass xml ¦ vault.xml ¦ P ¦ <Entry>⏎⟦<String><Key>Password</Key><Value ProtectInMemory="True">{v}</Value></String>⟧⏎</Entry>⏎
spring xml property ¦ beans.xml ¦ PT ¦ <bean id="ds">⏎⟦  <property name="{c}">⏎    <value>{v}</value>⏎  </property>⟧⏎</bean>⏎
hadoop site xml ¦ core-site.xml ¦ PK ¦ <configuration><property>⏎⟦<name>fs.s3a.{k}</name>⏎<value>{v}</value>⟧⏎</property></configuration>⏎
app settings add ¦ Web.config ¦ PTK ¦ <appSettings>⏎⟦  <add key="{P}" value="{v}" />⟧⏎</appSettings>⏎
jetbrains option ¦ workspace.xml ¦ P ¦ <component>⏎⟦<option name="{c}" value="{v}" />⟧⏎</component>⏎
tuple assignment ¦ .py ¦ P ¦ USER, PASSWORD = "{u}", "{v}"
tuple of three ¦ .py ¦ P ¦ host, login, passwd = ("{h}", "{u}", "{v}")
go several ¦ .go ¦ P ¦ user, password := "{u}", "{v}"
rust tuple ¦ .rs ¦ P ¦ let (user, password) = ("{u}", "{v}");
name in comment above ¦ .ts .java ¦ PT ¦ // {n} of {u}⏎"{v}",
value on next line ¦ .py ¦ PTK ¦ {N} = (⏎    "{v}"⏎)
java next line ¦ .java ¦ PTK ¦     private static final String {N} =⏎        "{v}";
c# pair ¦ .cs ¦ PTK ¦ settings.Add(new KeyValuePair<string, string>("{P}", "{v}"));
c# indexer ¦ .cs ¦ PTK ¦ builder.Configuration["Auth:{P}"] = "{v}";
java map put ¦ .java ¦ PTK ¦ props.put("{k}", "{v}");
js Map ¦ .ts .js ¦ PTK ¦ secrets.set('{c}', '{v}');
js entries ¦ .ts .js ¦ PT ¦ const pairs = [['user', '{u}'], ['{c}', '{v}']];
python setdefault ¦ .py ¦ PTK ¦ os.environ.setdefault("{N}", "{v}")
postman variable ¦ collection.json ¦ PT ¦ {"auth": {"basic": [⏎⟦  {"key": "password", "value": "{v}", "type": "string"}⟧⏎]}}⏎
insomnia header ¦ requests.json ¦ TK ¦ {"headers": [⏎⟦  {"name": "X-Api-Key", "value": "{v}"}⟧⏎]}⏎
jenkins credentials ¦ credentials.xml ¦ P ¦ <c>⏎⟦  <username>{u}</username>⏎  <password>{v}</password>⟧⏎</c>⏎
"""

CLASSES = {
    "direct assignments": DIRECT, "chosen passwords": CHOSEN, "decoded text": DECODED, "columns and SQL": COLUMNS,
    "name and value apart": APART, "wrapped values": WRAPPED, "command options": OPTIONS,
    "natural languages": LANGUAGES, "documents": DOCUMENTS, "keys as bytes": BYTES,
}  # fmt: skip
