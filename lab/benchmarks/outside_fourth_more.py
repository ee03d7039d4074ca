"""The second half of the styles of the fourth hold-out; their form is in `outside_fourth_styles.py`.

Rules were tuned on it on 2026-11-27: it is no hold-out since.
"""

WRAPPED = """
rust Some ¦ .rs ¦ PTK ¦     {n}: Some("{v}".into()),
rust String::from ¦ .rs ¦ PTK ¦     let {n} = String::from("{v}");
rust SecretString ¦ .rs ¦ PTK ¦     {n}: SecretString::new("{v}".into()),
rust to_owned ¦ .rs ¦ PTK ¦     config.{n} = "{v}".to_owned();
rust env unwrap_or ¦ .rs ¦ PT ¦ let {n} = env::var("{N}").unwrap_or_else(|_| "{v}".to_string());
rust clap default ¦ .rs ¦ PT ¦     #[arg(long, default_value = "{v}")]⏎    {n}: String,
dataclass field ¦ .py ¦ PTK ¦     {n}: str = field(default="{v}", repr=False)
pydantic SecretStr ¦ .py ¦ PTK ¦     {n}: SecretStr = SecretStr("{v}")
python bytes literal ¦ .py ¦ PTK ¦ {n} = b"{v}"
python config() ¦ .py ¦ PTK ¦ {N} = config("{N}", default="{v}")
click option ¦ .py ¦ PT ¦ @click.option("--{k}", default="{v}", show_default=False)
argparse default ¦ .py ¦ PT ¦ parser.add_argument("--{k}", type=str, default="{v}")
basic auth object ¦ .py ¦ P ¦ session.auth = HTTPBasicAuth("{u}", "{v}")
requests auth tuple ¦ .py ¦ P ¦ r = requests.get(url, auth=("{u}", "{v}"), timeout=9)
smtp login ¦ .py ¦ P ¦ server.login("{u}@example.org", "{v}")
paramiko positional ¦ .py ¦ P ¦ ssh.connect("{h}", 22, "{u}", "{v}")
java toCharArray ¦ .java ¦ P ¦ keyStore.load(in, "{v}".toCharArray());
java char array name ¦ .java ¦ P ¦ char[] {c} = "{v}".toCharArray();
java getConnection ¦ .java ¦ P ¦ DriverManager.getConnection(url, "{u}", "{v}");
java Optional ¦ .java ¦ PTK ¦ Optional<String> {c} = Optional.of("{v}");
java withDefault ¦ .java ¦ PTK ¦ String {c} = Objects.requireNonNullElse(System.getenv("{N}"), "{v}");
spring withUser ¦ .java ¦ P ¦ auth.inMemoryAuthentication().withUser("{u}").password("{noop}{v}").roles("A");
c# NetworkCredential ¦ .cs ¦ P ¦ client.Credentials = new NetworkCredential("{u}", "{v}");
c# AzureKeyCredential ¦ .cs ¦ K ¦ var c = new SearchClient(uri, "ix", new AzureKeyCredential("{v}"));
c# Encoding.GetBytes ¦ .cs ¦ PK ¦ var {c} = Encoding.UTF8.GetBytes("{v}");
go struct tag ¦ .go ¦ pT ¦ ⇥{P} string `env:"{N}" envDefault:"{v}"`
go byte slice ¦ .go ¦ PK ¦ var {c} = []byte("{v}")
go flag ¦ .go ¦ PT ¦ var {c} = flag.String("{k}", "{v}", "for the store")
go SetBasicAuth ¦ .go ¦ P ¦ req.SetBasicAuth("{u}", "{v}")
php mysqli ¦ .php ¦ P ¦ $db = new mysqli('{h}', '{u}', '{v}', 'shop');
php PDO ¦ .php ¦ P ¦ $pdo = new PDO($dsn, '{u}', '{v}');
ruby fetch default ¦ .rb ¦ PTK ¦ {n} = ENV.fetch('{N}', '{v}')
ruby block ¦ .rb ¦ PTK ¦ {n} = ENV.fetch('{N}') { '{v}' }
kotlin lazy ¦ .kt ¦ PTK ¦ val {c} by lazy { "{v}" }
swift Data ¦ .swift ¦ PK ¦ let {c} = Data("{v}".utf8)
zod default ¦ .ts ¦ PT ¦   {N}: z.string().min(8).default('{v}'),
joi default ¦ .ts .js ¦ PT ¦   {N}: Joi.string().default('{v}'),
js Buffer.from ¦ .ts .js ¦ PTK ¦ const {c} = Buffer.from('{v}', 'utf8');
scala Some ¦ .scala ¦ PT ¦   {c} = Some("{v}"),
elixir system env ¦ .exs ¦ PT ¦   {n}: System.get_env("{N}") || "{v}",
string concatenation ¦ .py .ts .java ¦ T ¦ url = "https://{h}/v2/items?access_token=" + "{v}"
"""

OPTIONS = """
curl user ¦ .sh ¦ PT ¦ curl -fsS -u '{u}:{v}' https://{h}/health
curl long user ¦ .yml ¦ p ¦ - run: curl --user {u}:{v} https://{h}/deploy
curl header ¦ .sh ¦ TK ¦ curl -H "X-Auth-Token: {v}" https://{h}/v1
curl bearer ¦ .md ¦ TK ¦ ⏎    curl -H 'Authorization: Bearer {v}' https://{h}/v1⏎
httpie auth ¦ .sh ¦ p ¦ http --auth {u}:{v} POST https://{h}/jobs
wget password ¦ .sh ¦ P ¦ wget --user={u} --password='{v}' https://{h}/d.tgz
mysql glued ¦ .sh ¦ p ¦ mysqldump -h {h} -u {u} -p{v} shop > dump.sql
psql conninfo ¦ .sh ¦ p ¦ psql "host={h} user={u} password={v} dbname=shop"
pgpassword ¦ .sh ¦ pT ¦ PGPASSWORD={v} pg_dump -h {h} -U {u} shop
sqlcmd ¦ .sh ¦ P ¦ sqlcmd -S {h} -U {u} -P '{v}' -Q "SELECT 1"
bcp ¦ .bat ¦ p ¦ bcp shop.dbo.items out items.txt -S {h} -U {u} -P {v} -c
redis-cli ¦ .sh ¦ pK ¦ redis-cli -h {h} -a {v} ping
mongo shell ¦ .sh ¦ P ¦ mongosh --host {h} -u {u} -p '{v}' --authenticationDatabase admin
sshpass ¦ .sh ¦ P ¦ sshpass -p '{v}' ssh {u}@{h} uptime
net use ¦ .bat ¦ p ¦ net use Z: \\\\{h}\\share {v} /user:{u}
rdp file launcher ¦ .bat ¦ p ¦ cmdkey /generic:{h} /user:{u} /pass:{v}
slash option ¦ .ps1 ¦ p ¦ xfreerdp /v:{h} /u:{u} /p:{v}
powershell securestring ¦ .ps1 ¦ P ¦ $s = ConvertTo-SecureString "{v}" -AsPlainText -Force
msdeploy ¦ .bat ¦ p ¦ msdeploy -dest:auto,computerName={h},userName={u},password={v}
kubectl literal ¦ .sh ¦ pTK ¦ kubectl create secret generic app --from-literal={k}={v}
docker login ¦ .sh ¦ PT ¦ docker login -u {u} -p "{v}" {h}
docker run env ¦ .sh ¦ pTK ¦ docker run -d -e {N}={v} -p 80:80 shop
docker build arg ¦ .md ¦ pT ¦ `docker build --build-arg {N}={v} .`
helm set ¦ .sh ¦ pTK ¦ helm upgrade shop ./chart --set auth.{c}={v}
ansible extra vars ¦ .sh ¦ pT ¦ ansible-playbook site.yml -e "{n}={v}"
openssl passin ¦ .sh ¦ P ¦ openssl pkcs12 -in a.p12 -passin 'pass:{v}' -nodes
keytool ¦ .sh ¦ p ¦ keytool -list -keystore k.jks -storepass {v}
gpg passphrase ¦ .sh ¦ P ¦ gpg --batch --passphrase '{v}' -d backup.gpg
zip password ¦ .sh ¦ p ¦ 7z x -p{v} backup.7z
ldapsearch ¦ .sh ¦ P ¦ ldapsearch -x -H ldap://{h} -D "cn={u}" -w '{v}'
snmp community v3 ¦ .sh ¦ p ¦ snmpget -v3 -u {u} -a SHA -A {v} {h} sysName.0
ipmitool ¦ .sh ¦ p ¦ ipmitool -I lanplus -H {h} -U {u} -P {v} power status
htpasswd ¦ .sh ¦ P ¦ htpasswd -b /etc/nginx/.htpasswd {u} '{v}'
chpasswd ¦ .sh ¦ p ¦ echo "{u}:{v}" | chpasswd
sudo stdin ¦ .sh ¦ P ¦ echo '{v}' | sudo -S apt-get update
cloud-config chpasswd ¦ user-data.yaml ¦ p ¦ #cloud-config⏎chpasswd:⏎  list: |⏎⟦    {u}:{v}⟧⏎
npm script ¦ package.json ¦ pT ¦ {"scripts": {⏎⟦  "release": "tool publish --token={v}"⟧⏎}}⏎
dockerfile healthcheck ¦ Dockerfile ¦ p ¦ FROM mysql:8⏎⟦HEALTHCHECK CMD mysqladmin ping -u{u} -p{v}⟧⏎
subprocess list ¦ .py ¦ PT ¦ subprocess.run(["sshpass", "-p", "{v}", "ssh", "{u}@{h}"])
exec array yaml ¦ .yml ¦ PT ¦ command: ["server", "--{k}", "{v}"]
systemd unit ¦ app.service ¦ pT ¦ [Service]⏎⟦Environment="{N}={v}"⟧⏎ExecStart=/usr/bin/app⏎
java system property ¦ .sh ¦ pT ¦ java -Djavax.net.ssl.trustStorePassword={v} -jar app.jar
"""

LANGUAGES = """
portuguese ¦ .py ¦ P ¦ senha = "{v}"
portuguese, yaml ¦ .yml ¦ P ¦ senha_banco: "{v}"
portuguese, php ¦ .php ¦ P ¦ $senhaUsuario = '{v}';
spanish ¦ .java ¦ P ¦ String contrasena = "{v}";
spanish with tilde ¦ .md ¦ P ¦ Usuario: {u}, contraseña: {v}
spanish clave ¦ .env ¦ p ¦ ENTORNO=prod⏎⟦CLAVE={v}⟧⏎PUERTO=80⏎
german ¦ .properties ¦ P ¦ datenbank.passwort={v}
german kennwort ¦ .cs ¦ P ¦ var kennwort = "{v}";
german letter ¦ anschreiben.txt ¦ p ¦ Guten Tag,⏎Ihr Passwort lautet: {v}⏎Viele Grüße
german zugangsdaten ¦ .md ¦ p ¦ Zugangsdaten: {u} / {v}
french ¦ .php ¦ P ¦ $mot_de_passe = '{v}';
french mdp ¦ .yml ¦ P ¦ mdp: '{v}'
french prose ¦ .md ¦ p ¦ Le mot de passe est {v} (compte {u}).
italian ¦ .md ¦ p ¦ Parola d'ordine: `{v}`
romanian ¦ .php ¦ P ¦ $parola = "{v}";
polish ¦ .py ¦ P ¦ haslo = "{v}"
polish with accent ¦ .md ¦ p ¦ Login: {u}, hasło: {v}
dutch ¦ .yml ¦ P ¦ wachtwoord: "{v}"
swedish ¦ .ts ¦ P ¦ const losenord = '{v}';
danish ¦ bruger.json ¦ P ¦ {⏎⟦  "adgangskode": "{v}"⟧⏎}⏎
norwegian ¦ .py ¦ P ¦ passord = "{v}"
finnish ¦ konf.ini ¦ P ¦ [kanta]⏎⟦salasana = {v}⟧⏎
czech ¦ .py ¦ P ¦ heslo = '{v}'
hungarian ¦ .php ¦ P ¦ $jelszo = '{v}';
turkish ¦ .cs ¦ P ¦ string sifre = "{v}";
turkish with cedilla ¦ .md ¦ p ¦ Kullanıcı: {u} Şifre: {v}
russian ¦ .md ¦ p ¦ Логин: {u}, пароль: {v}
russian, yaml ¦ .yml ¦ P ¦ пароль: "{v}"
russian, transliterated ¦ .py ¦ P ¦ parol = "{v}"
chinese ¦ .md ¦ p ¦ 用户名:{u} 密码:{v}
chinese, full-width colon ¦ readme_cn.txt ¦ p ¦ 账号：{u}⏎密码：{v}
chinese, comment ¦ .py ¦ P ¦ pw_default = "{v}"  # 数据库密码
chinese, pinyin ¦ .java ¦ P ¦ String mima = "{v}";
japanese ¦ .md ¦ p ¦ パスワード: {v}
korean ¦ .md ¦ p ¦ 비밀번호: {v}
vietnamese ¦ .php ¦ P ¦ $matkhau = '{v}';
indonesian ¦ .php ¦ P ¦ $kata_sandi = '{v}';
arabic ¦ .md ¦ p ¦ كلمة المرور: {v}
greek ¦ odigies.txt ¦ p ¦ κωδικός πρόσβασης: {v}
"""

DOCUMENTS = """
readme bold ¦ .md ¦ pT ¦ - **Password:** {v}
readme backticks ¦ .md ¦ PT ¦ Log in with user `{u}` and password `{v}`.
readme table ¦ .md ¦ pT ¦ | User | Password | Role |⏎|---|---|---|⏎⟦| {u} | {v} | admin |⟧
readme slash pair ¦ .md ¦ p ¦ Demo account: {u} / {v}
prose, the password is ¦ .md ¦ p ¦ The password for the staging server is {v}, please do not share it.
prose, token ¦ .md ¦ T ¦ Set the header to your key, for example {v}, and retry.
prose, use as ¦ .md ¦ p ¦ Use {v} as the password when the installer asks for it.
chat log ¦ chat.txt ¦ pT ¦ [10:02] ada: what is the root pw?⏎⟦[10:03] bob: {v}⟧⏎[10:03] ada: thanks⏎
mail ¦ mail.txt ¦ p ¦ Hi,⏎⟦your new login is {u} and the password {v}⟧⏎Best, ops⏎
jira comment ¦ notes.txt ¦ pTK ¦ h2. Access⏎⟦* {n}: {v}⟧⏎* ask ops for more⏎
todo comment ¦ .py .ts .java .cs ¦ pT ¦ // TODO rotate, old password was {v}
block comment ¦ .java .ts .cs ¦ p ¦ /* login: {u}  pass: {v} */
python comment ¦ .py ¦ pT ¦ # {n} = '{v}'
docstring example ¦ .py ¦ PT ¦     >>> client = Client("{u}", password="{v}")
html comment ¦ .html ¦ p ¦ <!-- admin login: {u} / {v} -->
html input ¦ .html ¦ P ¦ <input type="password" name="pass" value="{v}">
html definition list ¦ .html ¦ P ¦ <dt>Password</dt><dd>{v}</dd>
html meta ¦ .html ¦ TK ¦ <meta name="api-key" content="{v}">
html data attribute ¦ .html ¦ TK ¦ <div id="map" data-api-key="{v}"></div>
rst field ¦ guide.rst ¦ p ¦ Setup⏎=====⏎⟦:password: ``{v}``⟧⏎
asciidoc ¦ guide.adoc ¦ pT ¦ = Setup⏎⟦Password:: `{v}`⟧⏎
latex ¦ report.tex ¦ p ¦ \\section{Access}⏎⟦The password is \\texttt{{v}}.⟧⏎
org mode ¦ ops.org ¦ pT ¦ * Servers⏎:PROPERTIES:⏎⟦:PASSWORD: {v}⟧⏎:END:⏎
notebook cell ¦ a.ipynb ¦ PTK ¦ {"cells": [{"cell_type": "code", "source": [⏎⟦ "{n} = '{v}'\\n",⟧⏎ "go()"]}]}⏎
notebook output ¦ b.ipynb ¦ TK ¦ {"cells": [{"outputs": [{"text": [⏎⟦ "{N}={v}\\n"⟧⏎]}]}]}⏎
log line ¦ app.log ¦ PTK ¦ 2024-03-01 INFO up⏎⟦2024-03-01 DEBUG connect user={u} password={v} host={h}⟧⏎
http trace ¦ trace.txt ¦ T ¦ > GET /v1 HTTP/1.1⏎⟦> Authorization: Bearer {v}⟧⏎> Accept: */*⏎
cookie ¦ trace.har ¦ TK ¦ {"cookies": [⏎⟦ {"name": "session_token", "value": "{v}"}⟧⏎]}⏎
query string ¦ .md .html ¦ TK ¦ <https://{h}/api/items?api_key={v}&page=2>
shell history ¦ .bash_history ¦ pT ¦ cd /srv⏎⟦export {N}={v}⟧⏎ls⏎
diff ¦ fix.patch ¦ PTK ¦ --- a/c.py⏎+++ b/c.py⏎@@ -1 +1 @@⏎⟦-{n} = "{v}"⟧⏎+{n} = load()⏎
changelog ¦ .md ¦ p ¦ * fixed login (test user {u}, password: "{v}")
connection in prose ¦ .md ¦ C ¦ Connect to {C} from the bastion.
"""

BYTES = r'''
go bytes ¦ .go ¦ B ¦ var {c} = []byte{{b:0x, }}
rust array ¦ .rs ¦ B ¦ const {N}: [u8; 32] = [{b:0x, }];
rust decimal array ¦ .rs ¦ B ¦ let {n}: [u8; 32] = [{b:d, }];
c array ¦ .h ¦ B ¦ static const uint8_t {n}[] = {⏎    {b:0x/}⏎};
c string escapes ¦ .c ¦ B ¦ static const char {n}[] = "{b:\x}";
java byte array ¦ .java ¦ B ¦ byte[] {c} = new byte[] { {b:(byte) 0x, } };
java signed bytes ¦ .java ¦ B ¦ private static final byte[] {N} = {{b:s, }};
c# byte array ¦ .cs ¦ B ¦ private static readonly byte[] {P} = { {b:0X, } };
python escapes ¦ .py ¦ B ¦ {n} = b"{b:\x}"
python bytes of list ¦ .py ¦ B ¦ {n} = bytes([{b:d, }])
python fromhex spaced ¦ .py ¦ B ¦ {n} = bytes.fromhex("{b:h }")
typescript Uint8Array ¦ .ts ¦ B ¦ const {c} = Uint8Array.from([{b:d, }]);
solana keypair ¦ id.json ¦ BB ¦ [{b:d,}]⏎
kotlin byteArrayOf ¦ .kt ¦ B ¦ val {c} = byteArrayOf({b:0x, })
swift bytes ¦ .swift ¦ B ¦ let {c}: [UInt8] = [{b:0x, }]
php hex escapes ¦ .php ¦ B ¦ ${n} = "{b:\x}";
hex with colons ¦ .yml ¦ B ¦ {n}: "{b:h:}"
json array on lines ¦ key.json ¦ B ¦ {⏎⟦  "{c}": [⏎    {b:d,⏎    }⏎  ]⟧⏎}⏎
pem in python ¦ .py ¦ M ¦ {N} = """{v}"""
pem in yaml block ¦ .yml ¦ M ¦ {n}: |⏎  {v}
pem with escaped breaks ¦ service-account.json ¦ M ¦ {"type": "service_account",⏎⟦ "private_key": "{m}"⟧⏎}⏎
pem in dotenv ¦ .env ¦ M ¦ A=1⏎⟦{N}="{m}"⟧⏎
pem in base64 ¦ .yml ¦ M ¦ {n}: ‹b64 {v}⏎›
pem file ¦ deploy.key ¦ M ¦ {v}⏎
'''
