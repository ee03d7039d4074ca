# ruff: noqa: E501
"""The second half of the styles of the fifth hold-out; their form is in `outside_fifth_styles.py`.

NOT TO BE READ by anyone who writes or changes a rule of hush.
"""

WRAPPED = r"""
java getOrDefault ¦ .java ¦ PTK ¦         String {c} = System.getenv().getOrDefault("{N}", "{v}");
java credentials class ¦ .java ¦ P ¦         provider.setCredentials(scope, new UsernamePasswordCredentials("{u}", "{v}"));
java PasswordAuthentication ¦ .java ¦ P ¦                 return new PasswordAuthentication("{u}@example.org", "{v}");
java SecretKeySpec ¦ .java ¦ K ¦         var key = new SecretKeySpec("{v}".getBytes(StandardCharsets.UTF_8), "HmacSHA256");
java HMAC256 ¦ .java ¦ PK ¦         Algorithm algorithm = Algorithm.HMAC256("{v}");
java basic aws credentials ¦ .java ¦ A ¦         var who = AwsBasicCredentials.create("AKIA{x16}", "{v}");
java setApiKey ¦ .java ¦ T ¦         com.example.Client.setApiKey("{v}");
jwt sign ¦ .ts .js ¦ PK ¦ const token = jwt.sign({ sub: user.id }, '{v}', { expiresIn: '1h' });
express session ¦ .ts .js ¦ PK ¦ app.use(session({ secret: '{v}', resave: false, saveUninitialized: true }));
cookie parser ¦ .ts .js ¦ PK ¦ app.use(cookieParser('{v}'));
node createHmac ¦ .ts .js ¦ PK ¦ const digest = crypto.createHmac('sha256', '{v}').update(body).digest('hex');
axios auth ¦ .ts .js ¦ P ¦ const api = axios.create({ baseURL, auth: { username: '{u}', password: '{v}' } });
nodemailer auth ¦ .ts .js ¦ P ¦   auth: { user: '{u}@example.org', pass: '{v}' },
js client of a vendor ¦ .ts .js ¦ T ¦ const client = new Client({ apiKey: '{v}', maxRetries: 2 });
js template url ¦ .ts .js ¦ T ¦ const res = await fetch(`https://{h}/v1/items?limit=5&api_key={v}`);
jwt encode ¦ .py ¦ PK ¦ token = jwt.encode({"sub": "{u}"}, "{v}", algorithm="HS256")
hmac new ¦ .py ¦ PK ¦ signature = hmac.new(b"{v}", body, hashlib.sha256).hexdigest()
ftp login ¦ .py ¦ P ¦ ftp.login("{u}", "{v}")
pexpect ¦ .py ¦ P ¦ child.expect("assword:")⏎child.sendline("{v}")
telnet write ¦ .py ¦ p ¦ tn.read_until(b"Password: ")⏎tn.write(b"{v}\n")
netmiko ¦ .py ¦ P ¦ device = {"device_type": "cisco_ios", "host": "{h}", "username": "{u}", "secret": "{v}"}
ldap bind ¦ .py ¦ P ¦ conn.simple_bind_s("cn={u},dc=example,dc=org", "{v}")
neo4j driver ¦ .py ¦ P ¦ driver = GraphDatabase.driver("bolt://{h}:7687", auth=("{u}", "{v}"))
cassandra provider ¦ .py ¦ P ¦ auth = PlainTextAuthProvider(username="{u}", password="{v}")
vendor client of python ¦ .py ¦ T ¦ client = Client(api_key="{v}", timeout=20)
boto3 ¦ .py ¦ A ¦ s3 = boto3.client("s3", aws_access_key_id="AKIA{x16}", aws_secret_access_key="{v}")
airflow connection ¦ .py ¦ P ¦ conn = Connection(conn_id="dw", conn_type="mysql", host="{h}", login="{u}", password="{v}")
traitlets ¦ jupyter_config.py ¦ PT ¦ c = get_config()⏎c.ServerApp.port = 8888⏎⟦c.ServerApp.token = "{v}"⟧⏎
go static credentials ¦ .go ¦ A ¦ creds := credentials.NewStaticCredentialsProvider("AKIA{x16}", "{v}", "")
go hmac ¦ .go ¦ PK ¦ mac := hmac.New(sha256.New, []byte("{v}"))
viper default ¦ .go ¦ PTK ¦ viper.SetDefault("auth.{n}", "{v}")
gin basic auth ¦ .go ¦ hs ¦ authorized := r.Group("/admin", gin.BasicAuth(gin.Accounts{"{u}": "{v}"}))
go cmp.Or ¦ .go ¦ PT ¦ {c} := cmp.Or(os.Getenv("{N}"), "{v}")
rust option_env ¦ .rs ¦ PT ¦ const {N}: &str = match option_env!("{N}") { Some(s) => s, None => "{v}" };
rust builder ¦ .rs ¦ PT ¦     let client = Client::builder().username("{u}").{n}("{v}").build()?;
rust basic_auth ¦ .rs ¦ P ¦     let res = client.get(url).basic_auth("{u}", Some("{v}")).send().await?;
serde default ¦ .rs ¦ PT ¦ fn default_{n}() -> String {⏎    "{v}".into()⏎}
c# symmetric key ¦ .cs ¦ PK ¦         var key = new SymmetricSecurityKey(Encoding.ASCII.GetBytes("{v}"));
c# bearer ¦ .cs ¦ T ¦         http.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", "{v}");
c# null coalescing ¦ .cs ¦ PT ¦         var {c} = Environment.GetEnvironmentVariable("{N}") ?? "{v}";
ruby hmac ¦ .rb ¦ PK ¦ digest = OpenSSL::HMAC.hexdigest('SHA256', '{v}', body)
ruby aws credentials ¦ .rb ¦ A ¦ creds = Aws::Credentials.new('AKIA{x16}', '{v}')
php hash_hmac ¦ .php ¦ PK ¦ $sign = hash_hmac('sha256', $payload, '{v}');
php stripe ¦ .php ¦ T ¦ \Vendor\Client::setApiKey('{v}');
php ftp_login ¦ .php ¦ P ¦ ftp_login($conn, '{u}', '{v}');
php getenv ternary ¦ .php ¦ PT ¦ ${c} = getenv('{N}') ?: '{v}';
symfony default parameter ¦ services.yaml ¦ PT ¦ parameters:⏎⟦    env({N}): '{v}'⟧⏎services: ~⏎
kotlin elvis ¦ .kt ¦ PT ¦     val {c} = System.getenv("{N}") ?: "{v}"
scala getOrElse ¦ .scala ¦ PT ¦   val {c} = sys.env.getOrElse("{N}", "{v}")
clojure or ¦ env.clj ¦ PT ¦ (ns shop.env)⏎⟦(def {k} (or (System/getenv "{N}") "{v}"))⟧⏎
haskell fromMaybe ¦ Main.hs ¦ PT ¦ main = do⏎⟦  {c} <- fromMaybe "{v}" <$> lookupEnv "{N}"⟧⏎  run 80 app⏎
lua or ¦ .lua ¦ PT ¦   {n} = os.getenv("{N}") or "{v}",
dart environment ¦ .dart ¦ T ¦ const {c} = String.fromEnvironment('{N}', defaultValue: '{v}');
r Sys.setenv ¦ setup.R ¦ PTK ¦ library(httr)⏎⟦Sys.setenv({N} = "{v}")⟧⏎
nix mkDefault ¦ module.nix ¦ P ¦ { lib, ... }: {⏎⟦  services.shop.{c} = lib.mkDefault "{v}";⟧⏎}⏎
helm template default ¦ templates/env.yaml ¦ PT ¦ env:⏎⟦  - name: {N}⏎    value: {{ .Values.{c} | default "{v}" | quote }}⟧⏎
jinja default ¦ app.conf.j2 ¦ PT ¦ [app]⏎⟦{n} = {{ {n} | default('{v}') }}⟧⏎
wifi begin ¦ blink.ino ¦ HS ¦ #include <WiFi.h>⏎void setup() {⏎⟦  WiFi.begin("attic", "{v}");⟧⏎}⏎
pubsub connect ¦ mqtt.ino ¦ p ¦ void reconnect() {⏎⟦  client.connect("sensor-1", "{u}", "{v}");⟧⏎}⏎
libcurl ¦ .c ¦ p ¦   curl_easy_setopt(curl, CURLOPT_USERPWD, "{u}:{v}");
esp-idf menuconfig ¦ sdkconfig ¦ HS ¦ CONFIG_ESP_WIFI_SSID="attic"⏎⟦CONFIG_ESP_WIFI_PASSWORD="{v}"⟧⏎CONFIG_ESP_MAXIMUM_RETRY=5⏎
ado open ¦ report.vbs ¦ P ¦ Set conn = CreateObject("ADODB.Connection")⏎⟦conn.Open "DSN=Shop", "{u}", "{v}"⟧⏎
excel protect ¦ Sheet.bas ¦ HS ¦ Sub Lock()⏎⟦  ActiveSheet.Protect Password:="{v}"⟧⏎End Sub⏎
kafka jaas ¦ client.properties ¦ PK ¦ security.protocol=SASL_SSL⏎⟦sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="{u}" password="{v}";⟧⏎
"""

LANGUAGES = r"""
ukrainian ¦ .md ¦ p ¦ Логін: {u}, пароль: {v}
ukrainian, yaml ¦ .yml .yaml ¦ P ¦ пароль_бази: "{v}"
bulgarian ¦ dostap.txt ¦ p ¦ Потребител: {u}⏎Парола: {v}
serbian ¦ .md ¦ p ¦ Korisničko ime: {u}, lozinka: {v}
serbian, cyrillic ¦ pristup.txt ¦ p ¦ Корисник: {u}⏎Лозинка: {v}
croatian, code ¦ .php ¦ P ¦ $lozinka = '{v}';
slovene ¦ .py ¦ P ¦ geslo = "{v}"
slovak ¦ .md ¦ p ¦ Prihlasovacie heslo je {v} (konto {u}).
lithuanian ¦ .php ¦ P ¦ $slaptazodis = '{v}';
lithuanian, text ¦ prieiga.txt ¦ p ¦ Naudotojas: {u}⏎Slaptažodis: {v}
latvian ¦ .md ¦ p ¦ Lietotājs {u}, parole: {v}
estonian ¦ konf.yaml ¦ P ¦ kasutaja: {u}⏎⟦parool: "{v}"⟧⏎
icelandic ¦ .md ¦ p ¦ Lykilorð: {v}
catalan ¦ .py ¦ P ¦ contrasenya = "{v}"
catalan, mail ¦ correu.txt ¦ p ¦ Bon dia,⏎⟦la contrasenya nova és {v}⟧⏎Salutacions⏎
galician ¦ .md ¦ p ¦ Usuario {u}, contrasinal: {v}
basque ¦ .md ¦ p ¦ Erabiltzailea: {u} / Pasahitza: {v}
irish ¦ .md ¦ p ¦ Pasfhocal: {v}
welsh ¦ .md ¦ p ¦ Enw defnyddiwr: {u}, cyfrinair: {v}
hebrew ¦ .md ¦ p ¦ שם משתמש: {u} סיסמה: {v}
persian ¦ .md ¦ p ¦ نام کاربری: {u} رمز عبور: {v}
arabic, table ¦ dokhul.csv ¦ p ¦ المستخدم,كلمة السر⏎⟦{u},{v}⟧⏎
urdu ¦ .md ¦ p ¦ پاس ورڈ: {v}
hindi ¦ .md ¦ p ¦ उपयोगकर्ता: {u}, पासवर्ड: {v}
bengali ¦ .md ¦ p ¦ পাসওয়ার্ড: {v}
tamil ¦ .md ¦ p ¦ கடவுச்சொல்: {v}
thai ¦ .md ¦ p ¦ ชื่อผู้ใช้ {u} รหัสผ่าน {v}
indonesian, table ¦ akun.csv ¦ p ¦ nama,pengguna,sandi⏎⟦Server,{u},{v}⟧⏎
malay ¦ .md ¦ p ¦ Kata laluan: {v}
filipino ¦ .md ¦ p ¦ Ang password ng server ay {v}
swahili ¦ .md ¦ p ¦ Jina la mtumiaji: {u}, nenosiri: {v}
afrikaans ¦ .py ¦ P ¦ wagwoord = "{v}"
georgian ¦ .md ¦ p ¦ მომხმარებელი: {u}, პაროლი: {v}
armenian ¦ .md ¦ p ¦ Գաղտնաբառ՝ {v}
kazakh ¦ .md ¦ p ¦ Құпия сөз: {v}
german sentence ¦ .md ¦ p ¦ Das Passwort für {u} ist {v}, bitte nach der ersten Anmeldung ändern.
german, key ¦ .java ¦ TK ¦     private static final String ZUGRIFFSSCHLUESSEL = "{v}";
german csv ¦ benutzer.csv ¦ p ¦ Name;Anmeldename;Kennwort⏎⟦Roth;{u};{v}⟧⏎
german wlan ¦ .md ¦ h ¦ WLAN: Gast, WLAN-Schlüssel: {v}
french constant ¦ .ts ¦ P ¦ const motDePasse = '{v}';
french, key ¦ .yml .yaml ¦ TK ¦ cle_secrete: '{v}'
french mail ¦ courriel.txt ¦ p ¦ Bonjour,⏎Identifiant : {u}⏎⟦Mot de passe : {v}⟧⏎Cordialement⏎
spanish sentence ¦ .md ¦ p ¦ La clave del servidor es {v} y el usuario {u}.
spanish insert ¦ .sql ¦ P ¦ INSERT INTO usuarios (nombre, contrasena) VALUES ('{u}', '{v}');
spanish, key ¦ .py ¦ TK ¦ llave_secreta = "{v}"
portuguese sentence ¦ .md ¦ p ¦ O usuário é {u} e a senha é {v}.
portuguese insert ¦ .sql ¦ P ¦ INSERT INTO usuario (login, senha) VALUES ('{u}', '{v}');
portuguese key ¦ .java ¦ TK ¦     String chaveSecreta = "{v}";
italian constant ¦ .java ¦ P ¦     String parolaChiave = "{v}";
italian mail ¦ accesso.txt ¦ p ¦ Nome utente: {u}⏎⟦La password di accesso è: {v}⟧⏎
dutch mail ¦ mail_nl.txt ¦ p ¦ Beste,⏎⟦je nieuwe wachtwoord is {v}⟧⏎Groet⏎
polish insert ¦ .sql ¦ P ¦ INSERT INTO uzytkownicy (login, haslo) VALUES ('{u}', '{v}');
polish sentence ¦ .md ¦ p ¦ Hasło do serwera to {v}
swedish sentence ¦ .md ¦ p ¦ Lösenordet är {v} för användaren {u}.
turkish key ¦ .py ¦ TK ¦ gizli_anahtar = "{v}"
vietnamese sentence ¦ .md ¦ p ¦ Tài khoản: {u}, mật khẩu: {v}
greek pair ¦ .md ¦ p ¦ Χρήστης: {u}, κωδικός: {v}
russian sentence ¦ .md ¦ p ¦ Пароль от сервера: {v}, никому не давать
russian comment ¦ .py ¦ P ¦ admin = "{v}"  # пароль администратора
russian key ¦ .py ¦ TK ¦ # секретный ключ: {v}
chinese table ¦ zhanghao.csv ¦ p ¦ 系统,账号,密码⏎⟦OA,{u},{v}⟧⏎
chinese sentence ¦ .md ¦ p ¦ 默认密码为 {v}，请登录后修改。
chinese key ¦ .yml .yaml ¦ TK ¦ # 访问密钥⏎miyao: "{v}"
traditional chinese ¦ .md ¦ p ¦ 帳號：{u}　密碼：{v}
japanese pair ¦ .md ¦ p ¦ ログインID：{u}、パスワード：{v}
japanese pin ¦ memo.txt ¦ p ¦ サーバ {h}⏎⟦暗証番号：{v}⟧⏎
japanese comment ¦ .java ¦ P ¦     String value = "{v}"; // データベースのパスワード
korean sentence ¦ .md ¦ p ¦ 아이디는 {u}, 암호는 {v} 입니다.
korean comment ¦ .ts .js ¦ P ¦ const initial = '{v}'; // 초기 비밀번호
"""

DOCUMENTS = r"""
slack export ¦ general.json ¦ pT ¦ [{"type": "message", "user": "U02AB", "text": "what's the login for the box?"},⏎⟦ {"type": "message", "user": "U07CD", "text": "it's {u} / {v}"}⟧⏎]⏎
whatsapp export ¦ _chat.txt ¦ p ¦ 12/03/24, 18:02 - Ines: do you have the wifi?⏎⟦12/03/24, 18:03 - Tom: network attic, password {v}⟧⏎12/03/24, 18:03 - Ines: ty⏎
quoted mail ¦ thread.eml ¦ p ¦ Subject: Re: access⏎⏎Thanks!⏎⏎> Hi Tom,⏎> host: {h}⏎⟦> user: {u}⏎> pass: {v}⟧⏎
meeting minutes ¦ minutes.txt ¦ p ¦ 3. Staging⏎⟦- Lena reset the admin password to "{v}"⟧⏎- next meeting Monday⏎
runbook step ¦ .md ¦ p ¦ 3. Sign in at https://{h} as {u} with the password `{v}`.
sticky note ¦ todo.txt ¦ p ¦ call Ravi⏎⟦nas pw: {v}⟧⏎buy milk⏎
wifi sheet ¦ .md ¦ h ¦ Guest wifi: attic-guest, key: {v}
wifi qr payload ¦ qr.txt ¦ h ¦ WIFI:T:WPA;S:attic;P:{v};;⏎
otpauth ¦ mfa.txt ¦ O ¦ otpauth://totp/Shop:{u}?secret={v}&issuer=Shop⏎
man page ¦ shopctl.1 ¦ pT ¦ .TH SHOPCTL 1⏎.SH EXAMPLES⏎⟦.B shopctl login \-\-user {u} \-\-password {v}⟧⏎
readme fence ¦ .md ¦ pTK ¦ ⏎```sh⏎export {N}="{v}"⏎```⏎
xml doc comment ¦ .cs ¦ p ¦     /// <example>var c = new Client("{u}", "{v}");</example>
javadoc ¦ .java ¦ pT ¦     /**⏎     * Test account: {u}, password: {v}⏎     */
jsdoc default ¦ .ts .js ¦ T ¦  * @param {string} [apiKey={v}] key of the demo project
phpdoc todo ¦ .php ¦ p ¦     // FIXME: remove before release (ftp password: {v})
sql comment ¦ .sql ¦ p ¦ -- login {u}, password {v}
batch remark ¦ .bat ¦ p ¦ REM service account {u} password {v}
lisp comment ¦ init.el ¦ p ¦ (require 'erc)⏎⟦;; nickserv password: {v}⟧⏎(setq erc-nick "ada")⏎
ini comment ¦ db.ini ¦ p ¦ [db]⏎⟦; old password: {v}⟧⏎host = {h}⏎
yaml comment ¦ .yml .yaml ¦ pTK ¦ # {n}: {v}
html page hint ¦ .html ¦ p ¦ <p class="hint">Demo login: <b>{u}</b>, password: <b>{v}</b></p>
html hidden input ¦ .html ¦ TK ¦ <input type="hidden" name="access_token" value="{v}">
html script config ¦ .html ¦ TK ¦ <script>window.CONFIG = { endpoint: "https://{h}", apiKey: "{v}" };</script>
shell trace ¦ build.log ¦ p ¦ + cd /srv/app⏎⟦+ mysql -h {h} -u {u} -p{v} shop⟧⏎+ exit 0⏎
environment dump ¦ env.txt ¦ pTK ¦ HOME=/root⏎LANG=C.UTF-8⏎⟦{N}={v}⟧⏎PWD=/srv⏎
docker inspect ¦ inspect.json ¦ pTK ¦ [{"Config": {"Env": [⏎  "PATH=/usr/bin:/bin",⏎⟦  "{N}={v}"⟧⏎ ]}}]⏎
terraform state ¦ terraform.tfstate ¦ P ¦ {"resources": [{"type": "aws_db_instance", "instances": [{"attributes": {⏎   "username": "{u}",⏎⟦   "password": "{v}",⟧⏎   "port": 5432}}]}]}⏎
terraform output ¦ outputs.json ¦ PTK ¦ {⏎⟦  "{n}": {⏎    "sensitive": true,⏎    "type": "string",⏎    "value": "{v}"⏎  }⟧⏎}⏎
java toString in log ¦ catalina.log ¦ p ¦ 10:01:02 INFO start⏎⟦10:01:03 DEBUG PoolConfig(url=jdbc:h2:mem, username={u}, password={v}, size=10)⟧⏎
python dict in log ¦ worker.log ¦ pT ¦ 2025-02-01 09:00:00 INFO ready⏎⟦2025-02-01 09:00:01 DEBUG settings={'host': '{h}', 'user': '{u}', 'password': '{v}'}⟧⏎
access log ¦ access.log ¦ T ¦ 10.0.0.4 - - [01/Mar/2025:10:00:00 +0000] "GET /api/v1/items?access_token={v} HTTP/1.1" 200 512 "-" "curl/8.1"⏎
process list ¦ ps.txt ¦ p ¦ PID USER COMMAND⏎⟦ 812 root /usr/bin/agent --server {h} --user {u} --password {v}⟧⏎
curl verbose ¦ debug.txt ¦ T ¦ > POST /v2/orders HTTP/2⏎⟦> x-api-key: {v}⟧⏎> content-length: 12⏎
set-cookie ¦ response.txt ¦ TK ¦ HTTP/1.1 200 OK⏎⟦Set-Cookie: session={v}; Path=/; HttpOnly⟧⏎Content-Length: 0⏎
oauth response ¦ token.json ¦ T ¦ {"token_type": "Bearer", "expires_in": 3600,⏎⟦ "access_token": "{v}"⟧⏎}⏎
notebook markdown ¦ intro.ipynb ¦ p ¦ {"cells": [{"cell_type": "markdown", "source": [⏎  "## Access\n",⏎⟦  "user `{u}`, password `{v}`\n"⟧⏎ ]}]}⏎
notebook magic ¦ load.ipynb ¦ p ¦ {"cells": [{"cell_type": "code", "source": [⏎  "%load_ext sql\n",⏎⟦  "%sql postgresql://{u}:{v}@{h}/shop"⟧⏎ ]}]}⏎
r markdown ¦ report.Rmd ¦ P ¦ # Sales⏎⏎```{r}⏎⟦con <- dbConnect(MariaDB(), user = "{u}", password = "{v}")⟧⏎```⏎
sphinx code block ¦ usage.rst ¦ PTK ¦ Usage⏎=====⏎⏎.. code-block:: python⏎⏎⟦   client.{n} = "{v}"⟧⏎
front matter ¦ post.md ¦ PT ¦ ---⏎title: Deploy⏎⟦{n}: "{v}"⟧⏎---⏎Text.⏎
commit message ¦ history.txt ¦ p ¦ commit 9f2c1ab⏎Author: Tom⏎⏎⟦    Change the db password from {w} to {v}⟧⏎
git log patch ¦ series.mbox ¦ PTK ¦ diff --git a/app.py b/app.py⏎@@ -3,2 +3,2 @@⏎ import os⏎⟦-{N} = '{v}'⟧⏎+{N} = os.environ['{N}']⏎
pull request text ¦ .md ¦ pT ¦ To test, put `{N}={v}` into your `.env` and run `make up`.
ticket export ¦ issues.csv ¦ p ¦ Key,Summary,Description⏎⟦OPS-12,Reset,"Hi, the password for {u} is now {v} please check"⟧⏎
calendar ¦ invite.ics ¦ h ¦ BEGIN:VEVENT⏎SUMMARY:Release call⏎⟦DESCRIPTION:Meeting ID: 812 5551 2020\nPasscode: {v}⟧⏎END:VEVENT⏎
vault note ¦ ops.md ¦ pT ¦ # Servers⏎⏎## {h}⏎⏎User:: {u}⏎⟦Password:: {v}⟧⏎
textile ¦ wiki.textile ¦ p ¦ h1. Access⏎⏎⟦The admin password is @{v}@.⟧⏎
confluence storage ¦ page.xml ¦ p ¦ <ac:layout><p>Login</p>⏎⟦<p><strong>Password:</strong>&nbsp;<code>{v}</code></p>⟧⏎</ac:layout>⏎
word markup ¦ document.xml ¦ p ¦ <w:document><w:p>⏎⟦<w:r><w:t xml:space="preserve">Password: </w:t></w:r><w:r><w:t>{v}</w:t></w:r>⟧⏎</w:p></w:document>⏎
opendocument ¦ content.xml ¦ p ¦ <office:text>⏎⟦<text:p>Password:<text:tab/>{v}</text:p>⟧⏎</office:text>⏎
rtf ¦ handover.rtf ¦ p ¦ {\rtf1\ansi⏎⟦{\b Password:} {v}\par⟧⏎}⏎
filezilla ¦ sitemanager.xml ¦ P ¦ <Server><Host>{h}</Host>⏎<User>{u}</User>⏎⟦<Pass>{v}</Pass>⟧⏎</Server>⏎
connection in a wiki ¦ db.wiki ¦ C ¦ == Databases ==⏎⟦* production: <code>{C}</code>⟧⏎
connection in an answer ¦ .md ¦ C ¦ > I use `{C}` and it times out, any idea?
"""

BYTES = r'''
xxd dump ¦ key.hex ¦ B ¦ {b:%02x|}⏎
xxd include ¦ key.h ¦ B ¦ unsigned char {n}[] = {⏎  {b:0x%02x|, |12|,⏎  }⏎};⏎unsigned int {n}_len = 32;⏎
avr progmem ¦ radio.ino ¦ B ¦ #include <lmic.h>⏎⟦static const u1_t PROGMEM APPKEY[] = { {b:0x%02X|, } };⟧⏎
erlang binary ¦ crypt.erl ¦ B ¦ -module(crypt).⏎⟦-define({N}, <<{b:%d|,}>>).⟧⏎
elixir binary ¦ .exs ¦ B ¦   {n}: <<{b:%d|, }>>,
zig array ¦ .zig ¦ B ¦ const {n} = [_]u8{ {b:0x%02x|, } };
nim array ¦ .nim ¦ B ¦ const {c}: array[32, byte] = [byte {b:0x%02x|, }]
pascal array ¦ uKey.pas ¦ B ¦ unit uKey;⏎interface⏎const⏎⟦  {P}: array[0..31] of Byte = ({b:$%02X|, });⟧⏎implementation⏎end.⏎
ada array ¦ keys.ads ¦ B ¦ package Keys is⏎⟦   {P} : constant Byte_Array := ({b:16#%02X#|, });⟧⏎end Keys;⏎
f# bytes ¦ Key.fs ¦ B ¦ module Key⏎⟦let {c} = [| {b:0x%02Xuy|; } |]⟧⏎
vb.net bytes ¦ Key.vb ¦ B ¦ Module Key⏎⟦  Private {P}() As Byte = { {b:&H%02X|, } }⟧⏎End Module⏎
r raw ¦ key.R ¦ B ¦ library(openssl)⏎⟦{n} <- as.raw(c({b:0x%02x|, }))⟧⏎
julia bytes ¦ .jl ¦ B ¦ const {N} = UInt8[{b:0x%02x|, }]
haskell pack ¦ Key.hs ¦ B ¦ module Key where⏎⟦{c} = BS.pack [{b:0x%02x|, }]⟧⏎
ocaml escapes ¦ key.ml ¦ B ¦ let {n} = "{b:\x%02x|}"⏎
octal escapes ¦ .c ¦ B ¦ static const char {n}[] = "{b:\%03o|}";
lua decimal escapes ¦ .lua ¦ B ¦   {n} = "{b:\%03d|}",
lua string.char ¦ .lua ¦ B ¦   {n} = string.char({b:%d|, }),
ruby pack bytes ¦ .rb ¦ B ¦ {N} = [{b:0x%02x|, }].pack('C*')
perl pack ¦ .pl ¦ B ¦   {n} => pack('H*', '{b:%02x|}'),
dart Uint8List ¦ .dart ¦ B ¦ final {c} = Uint8List.fromList([{b:%d|, }]);
powershell bytes ¦ .ps1 ¦ B ¦ [byte[]]${P} = {b:0x%02x|,}
assembler ¦ boot.s ¦ B ¦     .section .rodata⏎{n}:⏎    .byte {b:0x%02x|, |8|⏎    .byte }⏎
nasm ¦ key.asm ¦ B ¦ section .data⏎⟦{n} db {b:0%02Xh|, }⟧⏎
verilog ¦ aes.v ¦ B ¦ module aes(input clk);⏎⟦  localparam [255:0] {N} = 256'h{b:%02x|};⟧⏎endmodule⏎
vhdl ¦ aes.vhd ¦ B ¦ architecture rtl of aes is⏎⟦  constant {N} : std_logic_vector(255 downto 0) := x"{b:%02X|}";⟧⏎begin⏎
registry binary ¦ key.reg ¦ B ¦ Windows Registry Editor Version 5.00⏎⏎[HKEY_LOCAL_MACHINE\SOFTWARE\Shop]⏎⟦"Key"=hex:{b:%02x|,|16|,\⏎  }⟧⏎
sql server binary ¦ .sql ¦ B ¦ UPDATE devices SET session_key = 0x{b:%02X|} WHERE id = 9;
protobuf text ¦ node.textproto ¦ B ¦ node_id: 7⏎⟦{n}: "{b:\%03o|}"⟧⏎
java BigInteger ¦ .java ¦ B ¦     static final BigInteger {N} = new BigInteger("{b:%02x|}", 16);
python int from hex ¦ .py ¦ B ¦ {N} = 0x{b:%02x|}
python bytearray on lines ¦ .py ¦ B ¦ {n} = bytearray([⏎    {b:0x%02X|, |8|,⏎    }⏎])
rust array on lines ¦ .rs ¦ B ¦ pub static {N}: [u8; 32] = [⏎    {b:0x%02x|, |8|,⏎    },⏎];
rust hex macro ¦ .rs ¦ B ¦ let {n} = hex!("{b:%02x|}");
go hex ¦ .go ¦ X ¦ {c}, _ := hex.DecodeString("{v}")
hardhat accounts ¦ hardhat.config.js ¦ X ¦ module.exports = {⏎  networks: { main: { url: "https://{h}",⏎⟦    accounts: ["0x{v}"]⟧⏎  } }⏎};⏎
tls key log ¦ sslkeys.log ¦ X ¦ CLIENT_TRAFFIC_SECRET_0 5f0c1be2a9d3477e8b61c2d4e5f60718293a4b5c6d7e8f901a2b3c4d5e6f7081 {v}⏎
openvpn static key ¦ ta.key ¦ B ¦ -----BEGIN OpenVPN Static key V1-----⏎{b:%02x||16|⏎}⏎-----END OpenVPN Static key V1-----⏎
esp nvs ¦ nvs.csv ¦ X ¦ key,type,encoding,value⏎net,namespace,,⏎⟦aes_key,data,hex2bin,{v}⟧⏎
jwk ¦ key.jwk.json ¦ J ¦ {"kty": "EC", "crv": "P-256",⏎ "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",⏎⟦ "d": "{v}"⟧⏎}⏎
jwk symmetric ¦ jwks.json ¦ J ¦ {"keys": [⏎⟦  {"kty": "oct", "kid": "k1", "alg": "HS256", "k": "{v}"}⟧⏎]}⏎
wireguard ¦ wg0.conf ¦ G ¦ [Interface]⏎Address = 10.8.0.2/24⏎⟦PrivateKey = {v}⟧⏎
wireguard preshared ¦ wg1.conf ¦ G ¦ [Peer]⏎AllowedIPs = 0.0.0.0/0⏎⟦PresharedKey = {v}⟧⏎
tsig key ¦ named.conf.keys ¦ G ¦ key "ddns" {⏎  algorithm hmac-sha256;⏎⟦  secret "{v}";⟧⏎};⏎
kubernetes encryption config ¦ encryption.yaml ¦ G ¦ resources:⏎- providers:⏎  - aescbc:⏎      keys:⏎      - name: key1⏎⟦        secret: {v}⟧⏎
ceph keyring ¦ ceph.client.keyring ¦ G ¦ [client.admin]⏎⟦⇥key = {v}⟧⏎⇥caps mon = "allow *"⏎
putty key ¦ deploy.ppk ¦ Q ¦ PuTTY-User-Key-File-3: ssh-ed25519⏎Encryption: none⏎Comment: ops⏎Private-Lines: 1⏎⟦{v}⟧⏎Private-MAC: 6f1d⏎
pem in c strings ¦ tls.h ¦ M ¦ static const char {n}[] =⏎{l:"|\n"};⏎
pem in javascript parts ¦ .js .ts ¦ M ¦ const {c} = [⏎{l:  '|',}⏎].join('\n');
pem in a comment ¦ .py ¦ M ¦ {l:# |}
pem in java text block ¦ .java ¦ M ¦     static final String {N} = """⏎        {v}⏎        """;
pem in go raw string ¦ .go ¦ M ¦ const {c} = `{v}`
pem in rust raw string ¦ .rs ¦ M ¦ const {N}: &str = r"{v}";
pem in heredoc ¦ .sh ¦ M ¦ cat > /etc/ssl/app.key <<'EOF'⏎{v}⏎EOF
pem in terraform ¦ .tf ¦ M ¦   {n} = <<-EOT⏎    {v}⏎  EOT
pem in php ¦ .php ¦ M ¦ ${c} = <<<PEM⏎{v}⏎PEM;
pem in xml ¦ saml.xml ¦ M ¦ <KeyDescriptor>⏎⟦<PrivateKey>{v}</PrivateKey>⟧⏎</KeyDescriptor>⏎
pem in openvpn profile ¦ client.ovpn ¦ M ¦ client⏎remote {h} 1194⏎<key>⏎{v}⏎</key>⏎
pem in swift ¦ .swift ¦ M ¦     static let {c} = """⏎    {v}⏎    """
pem in base64, env ¦ deploy/env.sh ¦ M ¦ export {N}_B64="‹b64 {v}⏎›"⏎
pem in log ¦ provision.log ¦ M ¦ 10:00 generated key:⏎{v}⏎10:01 done⏎
'''
