# ruff: noqa: E501
"""Ways in which people write credentials down: the styles of the fifth hold-out (`outside_blind.py --set fifth`).

NOT TO BE READ by anyone who writes or changes a rule of hush: it is a hold-out only as long as nothing is tuned on
it. Written on 2026-11-27 by a reviewer who had read no rule; rows of the fourth set are not repeated.

One line a style: name ¦ endings of host files, or a path of its own ¦ families of values ¦ text. In the text ⏎ is a
line break, ⇥ a tab, ⟦⟧ the entry where it is not the whole text; {v} the value; {n} {N} {c} {P} {k} its name in
snake_case, UPPER_CASE, camelCase, PascalCase and kebab-case; {u} {h} a user and a host; {C} a whole connection
string; ‹b64 …› ‹b64url …› ‹hex …› ‹url …› ‹gz …› what stands in it, encoded; {l:BEFORE|AFTER} every line of the value
between BEFORE and AFTER; {b:FORMAT|BETWEEN} a key's bytes, each in a format of `%`, and with |COUNT|BREAK behind it
BREAK after every COUNT of them.

Families: S strong password, H human password, W passphrase, P a mix of the three (lower case: only URL-safe
symbols, no blanks), T token with a vendor's form, K key without one (A: of AWS), C connection string, B bytes, M PEM;
J G X O Q keys of one form (`outside_fifth_types.FORMS`).
"""

from outside_fifth_more import BYTES, DOCUMENTS, LANGUAGES, WRAPPED

DIRECT = r"""
zig constant ¦ .zig ¦ PTK ¦ const {n} = "{v}";
nim constant ¦ .nim ¦ PTK ¦ const {c}* = "{v}"
julia constant ¦ .jl ¦ STK ¦ const {N} = "{v}"
clojure def ¦ core.clj ¦ PTK ¦ (ns shop.core)⏎⏎⟦(def {k} "{v}")⟧⏎(defn -main [& args] (start))⏎
clojure map ¦ config.edn ¦ PTK ¦ {:server {:port 8080}⏎ :db {:user "{u}"⏎⟦      :{k} "{v}"⟧⏎      :pool 5}}⏎
haskell binding ¦ Config.hs ¦ PTK ¦ module Config where⏎⏎⟦{c} :: String⏎{c} = "{v}"⟧⏎
ocaml let ¦ config.ml ¦ PTK ¦ open Lwt⏎⟦let {n} = "{v}"⟧⏎let port = 8080⏎
erlang sys.config ¦ sys.config ¦ PTK ¦ [{shop, [⏎  {port, 8080},⏎⟦  {{n}, "{v}"},⟧⏎  {pool, 4}]}].⏎
f# literal ¦ Settings.fs ¦ STK ¦ module Settings⏎⏎⟦[<Literal>]⏎let {P} = "{v}"⟧⏎
visual basic ¦ Module1.vb ¦ STK ¦ Module Module1⏎⟦    Private Const {P} As String = "{v}"⟧⏎End Module⏎
vba ¦ Export.bas ¦ STK ¦ Attribute VB_Name = "Export"⏎⟦Const {N} = "{v}"⟧⏎Sub Export()⏎End Sub⏎
delphi ¦ uConfig.pas ¦ STK ¦ unit uConfig;⏎interface⏎const⏎⟦  {P} = '{v}';⟧⏎implementation⏎end.⏎
cobol ¦ PAYJOB.cbl ¦ p ¦       WORKING-STORAGE SECTION.⏎⟦       01 WS-PASSWORD  PIC X(32) VALUE "{v}".⟧⏎       PROCEDURE DIVISION.⏎
abap ¦ zcl_client.abap ¦ pT ¦ METHOD connect.⏎⟦    lv_{n} = '{v}'.⟧⏎ENDMETHOD.⏎
sas macro ¦ load.sas ¦ p ¦ options nosource;⏎⟦%let {n} = {v};⟧⏎libname dw oracle user={u};⏎
stata global ¦ pull.do ¦ sK ¦ clear all⏎⟦global {n} "{v}"⟧⏎odbc load, table("t")⏎
fish ¦ config.fish ¦ pTK ¦ set -gx EDITOR vim⏎⟦set -gx {N} "{v}"⟧⏎
csh ¦ env.csh ¦ pTK ¦ setenv LANG C⏎⟦setenv {N} {v}⟧⏎
nushell ¦ env.nu ¦ STK ¦ ⟦$env.{N} = "{v}"⟧⏎$env.EDITOR = "hx"⏎
objective-c ¦ Constants.m ¦ PTK ¦ #import "Constants.h"⏎⏎⟦static NSString *const k{P} = @"{v}";⟧⏎
c++ string view ¦ .cpp ¦ STK ¦ constexpr std::string_view k{P}{"{v}"};
gradle ext ¦ build.gradle ¦ PTK ¦ plugins { id 'java' }⏎⟦ext.{c} = '{v}'⟧⏎
gradle properties ¦ gradle.properties ¦ STK ¦ org.gradle.caching=true⏎⟦{c}={v}⟧⏎
android signing ¦ android/key.properties ¦ p ¦ storeFile=upload.jks⏎keyAlias=upload⏎⟦keyPassword={v}⟧⏎
android buildConfigField ¦ app/build.gradle ¦ TK ¦ android {⏎  defaultConfig {⏎⟦    buildConfigField "String", "{N}", "\"{v}\""⟧⏎  }⏎}⏎
android string resource ¦ res/values/keys.xml ¦ TK ¦ <resources>⏎⟦    <string name="{n}" translatable="false">{v}</string>⟧⏎</resources>⏎
unity inspector field ¦ .cs ¦ PTK ¦     [SerializeField] private string {c} = "{v}";
godot ¦ net.gd ¦ STK ¦ extends Node⏎⟦const {N} := "{v}"⟧⏎func _ready():⏎⇥pass⏎
godot export preset ¦ export_presets.cfg ¦ P ¦ [preset.0.options]⏎keystore/release_user="{u}"⏎⟦keystore/release_password="{v}"⟧⏎
unreal ini ¦ Config/DefaultEngine.ini ¦ K ¦ [OnlineSubsystemEOS]⏎bEnabled=True⏎⟦ClientSecret={v}⟧⏎
hocon ¦ application.conf ¦ PTK ¦ play.http.port = 9000⏎shop {⏎⟦  {k} = "{v}"⟧⏎}⏎
jsonnet ¦ main.jsonnet ¦ PTK ¦ local host = '{h}';⏎⟦local {c} = '{v}';⟧⏎{ host: host }⏎
puppet ¦ manifests/site.pp ¦ PTK ¦ class { 'shop':⏎  port => 8080,⏎⟦  {n} => '{v}',⟧⏎}⏎
hiera ¦ data/common.yaml ¦ PTK ¦ ---⏎ntp::servers: [ntp1]⏎⟦profile::shop::{n}: '{v}'⟧⏎
chef attribute ¦ attributes/default.rb ¦ PTK ¦ default['shop']['port'] = 80⏎⟦default['shop']['{n}'] = '{v}'⟧⏎
cmake ¦ CMakeLists.txt ¦ sTK ¦ project(shop)⏎⟦set({N} "{v}")⟧⏎add_subdirectory(src)⏎
flask config ¦ .py ¦ PTK ¦ app.config["{N}"] = "{v}"
php class constant ¦ .php ¦ PTK ¦     const {N} = '{v}';
joomla ¦ configuration.php ¦ P ¦ <?php⏎class JConfig {⏎⇥public $user = '{u}';⏎⟦⇥public $password = '{v}';⟧⏎}⏎
drupal ¦ settings.php ¦ P ¦ <?php⏎$databases['default']['default'] = array(⏎  'driver' => 'mysql',⏎⟦  'password' => '{v}',⟧⏎);⏎
angular environment ¦ environment.prod.ts ¦ TK ¦ export const environment = {⏎  production: true,⏎⟦  {c}: '{v}',⟧⏎};⏎
rust raw string ¦ .rs ¦ STK ¦ pub static {N}: &'static str = r#"{v}"#;
go map entry ¦ .go ¦ PTK ¦ var defaults = map[string]string{"host": "{h}", "{n}": "{v}"}
tfvars ¦ prod.auto.tfvars ¦ PTK ¦ region = "eu-west-1"⏎⟦{n} = "{v}"⟧⏎instances = 2⏎
perl q ¦ .pl ¦ STK ¦   {n} => q({v}),
pulumi stack ¦ Pulumi.prod.yaml ¦ pT ¦ config:⏎  aws:region: eu-central-1⏎⟦  shop:{c}: {v}⟧⏎
alembic ¦ alembic.ini ¦ C ¦ [alembic]⏎script_location = db⏎⟦sqlalchemy.url = {C}⟧⏎
web.config connection ¦ Web.config ¦ C ¦ <connectionStrings>⏎⟦  <add name="Default" connectionString="{C}" providerName="System.Data.SqlClient" />⟧⏎</connectionStrings>⏎
connection in spring ¦ application-prod.properties ¦ C ¦ server.port=80⏎⟦app.{k}={C}⟧⏎
connection opened in go ¦ .go ¦ C ¦ db, err := sql.Open("pgx", "{C}")
"""

CHOSEN = r"""
pgpass ¦ home/.pgpass ¦ h ¦ {h}:5432:shop:{u}:{v}⏎
tomcat users ¦ tomcat-users.xml ¦ HW ¦ <tomcat-users>⏎⟦  <user username="{u}" password="{v}" roles="manager-gui"/>⟧⏎</tomcat-users>⏎
cypress type ¦ .ts .js ¦ HW ¦     cy.get('input[name=password]').type('{v}');
robot framework ¦ login.robot ¦ hw ¦ *** Test Cases ***⏎Login⏎    Input Text    id=user    {u}⏎⟦    Input Password    id=pass    {v}⟧⏎    Click Button    Login⏎
gherkin ¦ login.feature ¦ HW ¦ Feature: Login⏎  Scenario: valid⏎⟦    When I fill in "Password" with "{v}"⟧⏎    Then I see "Welcome"⏎
rspec ¦ login_spec.rb ¦ HW ¦ it 'logs in' do⏎  fill_in 'Email', with: '{u}@example.org'⏎⟦  fill_in 'Password', with: '{v}'⟧⏎end⏎
selenium ¦ .py ¦ HW ¦ driver.find_element(By.ID, "password").send_keys("{v}")
django superuser ¦ .py ¦ HW ¦ User.objects.create_superuser("{u}", "{u}@example.org", "{v}")
rails seed ¦ db/seeds.rb ¦ HW ¦ User.destroy_all⏎⟦User.create!(email: '{u}@example.org', password: '{v}')⟧⏎
laravel seeder ¦ .php ¦ HW ¦             'password' => Hash::make('{v}'),
aspnet identity seed ¦ .cs ¦ HW ¦         await userManager.CreateAsync(admin, "{v}");
spring security user ¦ application.properties ¦ HW ¦ server.port=8080⏎spring.security.user.name={u}⏎⟦spring.security.user.password={v}⟧⏎
keycloak realm ¦ realm.json ¦ HW ¦ {"users": [{"username": "{u}", "credentials": [⏎⟦  {"type": "password", "value": "{v}", "temporary": false}⟧⏎]}]}⏎
home assistant ¦ secrets.yaml ¦ HW ¦ latitude: 52.5⏎wifi_ssid: attic⏎⟦wifi_password: "{v}"⟧⏎
vagrant ¦ Vagrantfile ¦ HW ¦ Vagrant.configure("2") do |config|⏎⟦  config.ssh.password = "{v}"⟧⏎end⏎
packer ¦ image.pkr.hcl ¦ HW ¦ source "qemu" "a" {⏎  ssh_username = "{u}"⏎⟦  ssh_password = "{v}"⟧⏎}⏎
kickstart ¦ ks.cfg ¦ h ¦ lang en_US.UTF-8⏎⟦rootpw --plaintext {v}⟧⏎reboot⏎
preseed ¦ preseed.cfg ¦ HW ¦ d-i passwd/root-login boolean true⏎⟦d-i passwd/root-password password {v}⏎d-i passwd/root-password-again password {v}⟧⏎
unattended windows ¦ autounattend.xml ¦ HW ¦ <AutoLogon>⏎⟦  <Password><Value>{v}</Value><PlainText>true</PlainText></Password>⟧⏎  <Username>{u}</Username>⏎</AutoLogon>⏎
minecraft ¦ server.properties ¦ hw ¦ motd=Family server⏎enable-rcon=true⏎⟦rcon.password={v}⟧⏎max-players=8⏎
game server ini ¦ GameUserSettings.ini ¦ hw ¦ [ServerSettings]⏎ServerPassword=⏎⟦ServerAdminPassword={v}⟧⏎
zabbix ¦ zabbix_server.conf ¦ hw ¦ DBName=zabbix⏎DBUser={u}⏎⟦DBPassword={v}⟧⏎
graphql mutation ¦ login.graphql ¦ HW ¦ mutation {⏎⟦  login(email: "{u}@example.org", password: "{v}") { token }⟧⏎}⏎
openapi example ¦ openapi.yaml ¦ HW ¦ LoginRequest:⏎  properties:⏎    password:⏎      type: string⏎⟦      example: "{v}"⟧⏎
hostapd ¦ hostapd.conf ¦ HW ¦ interface=wlan0⏎ssid=attic⏎⟦wpa_passphrase={v}⟧⏎
network manager ¦ attic.nmconnection ¦ HW ¦ [wifi-security]⏎key-mgmt=wpa-psk⏎⟦psk={v}⟧⏎
login request in java ¦ .java ¦ HW ¦     LoginRequest request = new LoginRequest("{u}", "{v}");
k6 script ¦ load.js ¦ HW ¦ import http from 'k6/http';⏎⟦const body = JSON.stringify({ username: '{u}', password: '{v}' });⟧⏎
fixture yaml ¦ users.yml ¦ HW ¦ admin:⏎  email: {u}@example.org⏎⟦  plainPassword: {v}⟧⏎
elixir seed ¦ priv/repo/seeds.exs ¦ HW ¦ alias Shop.Accounts⏎⟦Accounts.register_user(%{email: "{u}@example.org", password: "{v}"})⟧⏎
"""

DECODED = r"""
git extra header ¦ gitconfig ¦ pT ¦ [user]⏎  name = ci⏎[http "https://{h}/"]⏎⟦  extraheader = AUTHORIZATION: basic ‹b64 {u}:{v}›⟧⏎
nginx proxy header ¦ proxy.conf ¦ p ¦ location / {⏎  proxy_pass https://{h};⏎⟦  proxy_set_header Authorization "Basic ‹b64 {u}:{v}›";⟧⏎}⏎
go header ¦ .go ¦ pT ¦ req.Header.Set("Authorization", "Basic ‹b64 {u}:{v}›")
jmeter header ¦ plan.jmx ¦ p ¦ <elementProp name="" elementType="Header">⏎  <stringProp name="Header.name">Authorization</stringProp>⏎⟦  <stringProp name="Header.value">Basic ‹b64 {u}:{v}›</stringProp>⟧⏎</elementProp>⏎
pull secret ¦ regcred.yaml ¦ pT ¦ kind: Secret⏎type: kubernetes.io/dockerconfigjson⏎data:⏎⟦  .dockerconfigjson: ‹b64 {"auths":{"{h}":{"username":"{u}","password":"{v}","auth":"eA=="}}}›⟧⏎
secret as json ¦ secret.json ¦ PTK ¦ {"kind": "Secret", "apiVersion": "v1", "data": {⏎⟦  "{k}": "‹b64 {v}›"⟧⏎}}⏎
secret of many lines ¦ app-secret.yaml ¦ PT ¦ apiVersion: v1⏎kind: Secret⏎data:⏎⟦  application.yml: ‹b64 spring:⏎  datasource:⏎    username: {u}⏎    password: "{v}"⏎›⟧⏎
cloud-init write_files ¦ cloud.yaml ¦ pT ¦ #cloud-config⏎write_files:⏎  - path: /etc/app.env⏎    encoding: b64⏎⟦    content: ‹b64 PORT=80⏎DB_PASSWORD={v}⏎›⟧⏎
powershell FromBase64 ¦ .ps1 ¦ PT ¦ $raw = [Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('‹b64 user={u};password={v}›'))
go DecodeString ¦ .go ¦ PTK ¦ {c}, _ := base64.StdEncoding.DecodeString("‹b64 {v}›")
rust engine decode ¦ .rs ¦ PT ¦ let raw = STANDARD.decode("‹b64 {"db_user":"{u}","db_password":"{v}"}›").unwrap();
ruby decode64 ¦ .rb ¦ PTK ¦ {n} = Base64.decode64('‹b64 {v}›')
elixir decode64 ¦ .exs ¦ PT ¦   {n}: Base.decode64!("‹b64 {v}›"),
kotlin android Base64 ¦ .kt ¦ TK ¦     val {c} = String(Base64.decode("‹b64 {v}›", Base64.DEFAULT))
swift base64Encoded ¦ .swift ¦ TK ¦     static let {c} = Data(base64Encoded: "‹b64 {v}›")!
perl decode_base64 ¦ .pl ¦ P ¦   password => decode_base64('‹b64 {v}›'),
postgres decode ¦ .sql ¦ PT ¦ INSERT INTO secrets (name, body) VALUES ('smtp', convert_from(decode('‹b64 {"user":"{u}","password":"{v}"}›', 'base64'), 'utf8'));
mysql FROM_BASE64 ¦ .sql ¦ P ¦ UPDATE mail_account SET password = FROM_BASE64('‹b64 {v}›') WHERE id = 4;
data url ¦ .html .ts ¦ PT ¦ fetch("data:application/json;base64,‹b64 {"apiUser":"{u}","apiPassword":"{v}"}›")
smtp session ¦ smtp.log ¦ P ¦ 250-AUTH LOGIN PLAIN⏎AUTH LOGIN⏎334 VXNlcm5hbWU6⏎‹b64 {u}›⏎⟦334 UGFzc3dvcmQ6⏎‹b64 {v}›⟧⏎235 2.7.0 Authentication successful⏎
mail attachment ¦ message.eml ¦ PT ¦ From: ops@example.org⏎Content-Type: text/plain; name="vpn.txt"⏎Content-Transfer-Encoding: base64⏎⏎⟦‹b64 gateway: {h}⏎username: {u}⏎password: {v}⏎›⟧⏎
github action step ¦ web/.github/workflows/app.yml ¦ PT ¦ jobs:⏎  build:⏎    steps:⏎⟦      - run: echo "‹b64 storePassword={v}⏎keyAlias=upload⏎›" | base64 --decode > key.properties⟧⏎
yarn ident ¦ yarnrc/.yarnrc.yml ¦ p ¦ nodeLinker: node-modules⏎npmRegistries:⏎  "//{h}":⏎⟦    npmAuthIdent: "‹b64 {u}:{v}›"⟧⏎
jenkins casc ¦ jenkins.yaml ¦ PT ¦ credentials:⏎  system:⏎    - string:⏎⟦        secret: "${decodeBase64:‹b64 {v}›}"⟧⏎
node Buffer hex ¦ .ts .js ¦ PT ¦ const conf = JSON.parse(Buffer.from('‹hex {"user":"{u}","pass":"{v}"}›', 'hex').toString());
ruby pack ¦ .rb ¦ PT ¦ SETTINGS = JSON.parse(['‹hex {"user":"{u}","password":"{v}"}›'].pack('H*'))
mysql UNHEX ¦ .sql ¦ PT ¦ INSERT INTO config VALUES ('mail', UNHEX('‹hex smtp_user={u}⏎smtp_password={v}›'));
java HexFormat ¦ .java ¦ P ¦         byte[] raw = HexFormat.of().parseHex("‹hex login={u};password={v}›");
har post data ¦ login.har ¦ P ¦ {"request": {"method": "POST", "postData": {⏎⟦  "text": "username={u}&password=‹url {v}›&remember=on"⟧⏎}}}⏎
postman urlencoded ¦ flow.json ¦ P ¦ {"body": {"mode": "raw",⏎⟦ "raw": "grant_type=password&client_id=web&username={u}&password=‹url {v}›"⟧⏎}}⏎
redirect with state ¦ .php .ts ¦ T ¦ $next = 'https://{h}/resume?state=‹url {"access_token":"{v}"}›';
helm release ¦ release.yaml ¦ P ¦ kind: Secret⏎type: helm.sh/release.v1⏎data:⏎⟦  release: ‹b64 ‹gz {"name":"shop","config":{"auth":{"username":"{u}","password":"{v}"}}}››⟧⏎
gzip user data ¦ .tf ¦ PT ¦   user_data_base64 = "‹gz #!/bin/sh⏎echo 'DB_PASSWORD={v}' >> /etc/app.env⏎›"
url-safe base64 flag ¦ .sh ¦ PT ¦ ./agent --bootstrap '‹b64url {"server":"{h}","user":"{u}","password":"{v}"}›'
"""

COLUMNS = r"""
dashlane export ¦ credentials.csv ¦ P ¦ username,username2,username3,title,password,note,url,category,otpSecret⏎⟦{u},,,{h},{v},,https://{h},,⟧⏎
nordpass export ¦ nordpass.csv ¦ P ¦ name,url,username,password,note,cardholdername,cardnumber,cvc,folder⏎⟦{h},https://{h},{u},{v},,,,,Work⟧⏎
safari export ¦ Passwoerter.csv ¦ P ¦ Title,URL,Username,Password,Notes,OTPAuth⏎⟦{h} ({u}),https://{h}/,{u},{v},,⟧⏎
keepassxc export ¦ vault.csv ¦ P ¦ "Group","Title","Username","Password","URL","Notes","TOTP"⏎⟦"Root/Ops","{h}","{u}","{v}","https://{h}","",""⟧⏎
proton export ¦ proton.csv ¦ P ¦ type,name,url,email,username,password,note,totp⏎⟦login,{h},https://{h},{u}@example.org,{u},{v},,⟧⏎
ses smtp credentials ¦ smtp_credentials.csv ¦ E ¦ IAM User Name,Smtp Username,Smtp Password⏎⟦ses-{u},AKIA{x16},{v}⟧⏎
workspace bulk upload ¦ upload.csv ¦ P ¦ First Name [Required],Last Name [Required],Email Address [Required],Password [Required]⏎⟦Ada,Berg,{u}@example.org,{v}⟧⏎
moodle upload ¦ students.csv ¦ p ¦ username;password;firstname;lastname;email⏎anna;{w};Anna;Roth;a@example.org⏎⟦{u};{v};Jan;Kern;{u}@example.org⟧⏎
mysql console table ¦ query.txt ¦ P ¦ +----+---------+----------------------+⏎| id | login   | password             |⏎+----+---------+----------------------+⏎⟦|  3 | {u} | {v} |⟧⏎+----+---------+----------------------+⏎
psql expanded ¦ psql.out ¦ PT ¦ -[ RECORD 1 ]-----------------⏎id       | 12⏎username | {u}⏎⟦password | {v}⟧⏎
mediawiki table ¦ servers.wiki ¦ p ¦ {| class="wikitable"⏎! Host !! User !! Password⏎|-⏎⟦| {h} || {u} || {v}⟧⏎|}⏎
jira table ¦ access.txt ¦ p ¦ ||Host||User||Password||⏎⟦|{h}|{u}|{v}|⟧⏎
html table ¦ access.html ¦ P ¦ <table>⏎<tr><th>Server</th><th>Login</th><th>Password</th></tr>⏎⟦<tr><td>{h}</td><td>{u}</td><td>{v}</td></tr>⟧⏎</table>⏎
rst simple table ¦ access.rst ¦ p ¦ ==================  ==========  ====================⏎Host                User        Password⏎==================  ==========  ====================⏎⟦{h}    {u}    {v}⟧⏎==================  ==========  ====================⏎
latex tabular ¦ appendix.tex ¦ s ¦ \begin{tabular}{lll}⏎Host & User & Password \\ \hline⏎⟦{h} & {u} & {v} \\⟧⏎\end{tabular}⏎
asciidoc table ¦ access.adoc ¦ p ¦ [options="header"]⏎|===⏎|Host |User |Password⏎⟦|{h} |{u} |{v}⟧⏎|===⏎
csv behind a comment ¦ routers.csv ¦ p ¦ # ip,port,user,password⏎10.0.0.1,22,admin,{w}⏎⟦10.0.0.2,22,{u},{v}⟧⏎
csv with secrets per stage ¦ stages.csv ¦ TK ¦ stage,region,client_id,client_secret⏎⟦prod,eu,web-portal,{v}⟧⏎
wordpress options ¦ .sql ¦ PT ¦ REPLACE INTO `wp_options` (`option_name`, `option_value`, `autoload`) VALUES ('smtp_password', '{v}', 'yes');
insert set ¦ .sql ¦ PTK ¦ INSERT INTO gateway SET name = 'psp', {n} = '{v}', active = 1;
linked server ¦ .sql ¦ P ¦ EXEC sp_addlinkedsrvlogin @rmtsrvname = N'DW', @rmtuser = N'{u}', @rmtpassword = N'{v}';
oracle database link ¦ .sql ¦ p ¦ CREATE DATABASE LINK dw CONNECT TO {u} IDENTIFIED BY "{v}" USING 'DWPROD';
master key of sql server ¦ .sql ¦ P ¦ CREATE MASTER KEY ENCRYPTION BY PASSWORD = '{v}';
scoped credential ¦ .sql ¦ PK ¦ CREATE DATABASE SCOPED CREDENTIAL blob WITH IDENTITY = '{u}', SECRET = '{v}';
clickhouse user ¦ .sql ¦ P ¦ CREATE USER {u} IDENTIFIED WITH sha256_password BY '{v}';
redshift copy ¦ .sql ¦ A ¦ COPY sales FROM 's3://b/x' ACCESS_KEY_ID 'AKIA{x16}' SECRET_ACCESS_KEY '{v}' CSV;
cassandra role ¦ schema.cql ¦ P ¦ USE shop;⏎⟦CREATE ROLE {u} WITH PASSWORD = '{v}' AND LOGIN = true;⟧⏎
neo4j password ¦ init.cypher ¦ P ¦ ALTER USER neo4j SET PASSWORD '{v}' CHANGE NOT REQUIRED;⏎
mysql replication ¦ .sql ¦ P ¦ CHANGE MASTER TO MASTER_HOST='{h}', MASTER_USER='{u}', MASTER_PASSWORD='{v}';
postgres subscription ¦ .sql ¦ p ¦ CREATE SUBSCRIPTION s1 CONNECTION 'host={h} dbname=shop user={u} password={v}' PUBLICATION p1;
sqlcipher ¦ .sql ¦ P ¦ ATTACH DATABASE 'vault.db' AS vault KEY '{v}';
pandas frame ¦ .py ¦ P ¦ df = pd.DataFrame([["{h}", "{u}", "{v}"]], columns=["host", "user", "password"])
r tribble ¦ hosts.R ¦ P ¦ library(tibble)⏎logins <- tribble(⏎  ~host, ~user, ~password,⏎⟦  "{h}", "{u}", "{v}"⟧⏎)⏎
gherkin examples ¦ accounts.feature ¦ p ¦ Feature: Accounts⏎  Scenario Outline: login⏎    Given I log in as <user> with <password>⏎    Examples:⏎      | user | password | role |⏎⟦      | {u} | {v} | admin |⟧⏎
go struct rows ¦ accounts_test.go ¦ P ¦ package shop⏎⏎var cases = []struct{ login, password string; ok bool }{⏎⟦⇥{"{u}", "{v}", true},⟧⏎}⏎
"""

APART = r"""
heroku app.json ¦ app.json ¦ PTK ¦ {"env": {⏎⟦  "{N}": {⏎    "description": "set per stage",⏎    "value": "{v}"⏎  }⟧⏎}}⏎
render blueprint ¦ render.yaml ¦ pTK ¦ services:⏎  - type: web⏎    envVars:⏎⟦      - key: {N}⏎        value: {v}⟧⏎
app platform spec ¦ deploy/.do/app.yaml ¦ pTK ¦ name: shop⏎envs:⏎⟦- key: {N}⏎  scope: RUN_TIME⏎  type: SECRET⏎  value: {v}⟧⏎
azure app settings ¦ appsettings.azure.json ¦ PTK ¦ [⏎⟦  {⏎    "name": "{P}",⏎    "slotSetting": false,⏎    "value": "{v}"⏎  }⟧⏎]⏎
azure pipeline ¦ azure-pipelines.yml ¦ PTK ¦ variables:⏎⟦- name: {c}⏎  value: '{v}'⟧⏎steps:⏎- script: make⏎
kustomize literal ¦ kustomization.yaml ¦ pTK ¦ secretGenerator:⏎- name: app⏎  literals:⏎⟦  - {k}={v}⟧⏎
argo parameter ¦ application.yaml ¦ PT ¦ source:⏎  helm:⏎    parameters:⏎⟦    - name: auth.{c}⏎      value: "{v}"⏎      forceString: true⟧⏎
openshift template ¦ template.yaml ¦ PTK ¦ kind: Template⏎parameters:⏎⟦- name: {N}⏎  displayName: Access⏎  required: true⏎  value: "{v}"⟧⏎
jenkins parameter ¦ Jenkinsfile ¦ PTK ¦ pipeline {⏎  parameters {⏎⟦    string(name: '{N}', defaultValue: '{v}', description: 'for the nightly run')⟧⏎  }⏎}⏎
teamcity parameter ¦ project-config.xml ¦ PTK ¦ <parameters>⏎⟦  <param name="env.{N}" value="{v}" />⟧⏎</parameters>⏎
jmeter argument ¦ load.jmx ¦ PT ¦ <elementProp name="password" elementType="HTTPArgument">⏎⟦  <stringProp name="Argument.value">{v}</stringProp>⏎  <stringProp name="Argument.name">password</stringProp>⟧⏎</elementProp>⏎
nifi property ¦ flow.xml ¦ P ¦ <properties>⏎⟦<entry><key>Database Password</key><value>{v}</value></entry>⟧⏎</properties>⏎
resx ¦ Strings.resx ¦ PTK ¦ <root>⏎⟦  <data name="{P}" xml:space="preserve">⏎    <value>{v}</value>⏎  </data>⟧⏎</root>⏎
settings designer ¦ Settings.settings ¦ PT ¦ <Settings>⏎⟦    <Setting Name="{P}" Type="System.String" Scope="User">⏎      <Value Profile="(Default)">{v}</Value>⏎    </Setting>⟧⏎</Settings>⏎
registry file ¦ vpn.reg ¦ P ¦ Windows Registry Editor Version 5.00⏎⏎[HKEY_CURRENT_USER\Software\Client]⏎"User"="{u}"⏎⟦"Password"="{v}"⟧⏎
mobileconfig ¦ wifi.mobileconfig ¦ P ¦ <dict>⏎  <key>SSID_STR</key><string>attic</string>⏎⟦  <key>Password</key>⏎  <string>{v}</string>⟧⏎</dict>⏎
ldif ¦ people.ldif ¦ pW ¦ dn: uid={u},ou=people,dc=example,dc=org⏎objectClass: inetOrgPerson⏎⟦userPassword: {v}⟧⏎
setProperty ¦ .java ¦ PTK ¦         props.setProperty("mail.smtp.{c}", "{v}");
kotlin mapOf ¦ .kt ¦ PTK ¦     val extra = mapOf("host" to "{h}", "{n}" to "{v}")
scala map ¦ .scala ¦ PTK ¦   val options = Map("user" -> "{u}", "{n}" -> "{v}")
ssm put_parameter ¦ .py ¦ PTK ¦ ssm.put_parameter(Name="/shop/prod/{n}", Value="{v}", Type="SecureString")
terraform ssm ¦ .tf ¦ PTK ¦ resource "aws_ssm_parameter" "p" {⏎  name  = "/shop/{n}"⏎  type  = "SecureString"⏎  value = "{v}"⏎}
terraform secret version ¦ .tf ¦ PTK ¦ resource "google_secret_manager_secret_version" "{n}" {⏎  secret      = google_secret_manager_secret.{n}.id⏎  secret_data = "{v}"⏎}
key vault secret ¦ .tf ¦ PT ¦ resource "azurerm_key_vault_secret" "s" {⏎  name         = "{k}"⏎  value        = "{v}"⏎  key_vault_id = var.vault⏎}
qt settings ¦ .cpp ¦ PT ¦     settings.setValue("account/{n}", "{v}");
shared preferences ¦ .kt ¦ PT ¦     prefs.edit().putString("{n}", "{v}").apply()
local storage ¦ .ts .js ¦ T ¦ localStorage.setItem('{n}', '{v}');
swift keychain ¦ .swift ¦ PT ¦     keychain.set("{v}", forKey: "{c}")
objective-c dictionary ¦ Client.m ¦ TK ¦ - (void)setup {⏎⟦  [params setObject:@"{v}" forKey:@"{n}"];⟧⏎}⏎
apps script property ¦ Code.gs ¦ TK ¦ function setup() {⏎⟦  PropertiesService.getScriptProperties().setProperty('{N}', '{v}');⟧⏎}⏎
elixir tuple list ¦ .exs ¦ PT ¦   env: [{"PORT", "80"}, {"{N}", "{v}"}],
value before name in xml ¦ beans-prod.xml ¦ PTK ¦ <properties>⏎⟦  <property value="{v}" name="{c}"/>⟧⏎</properties>⏎
bamboo variables ¦ deploy.json ¦ PT ¦ {"variables": [{"variableType": "PASSWORD",⏎⟦   "key": "{n}",⏎   "description": null,⏎   "value": "{v}"⟧⏎}]}⏎
gitlab variables export ¦ variables.json ¦ PTK ¦ [⏎⟦  {"variable_type": "env_var", "key": "{N}", "value": "{v}", "protected": true, "masked": false}⟧⏎]⏎
firestore document ¦ doc.json ¦ TK ¦ {"fields": {⏎⟦  "{c}": {"stringValue": "{v}"}⟧⏎}}⏎
dynamodb item ¦ item.json ¦ PTK ¦ {"pk": {"S": "tenant#4"},⏎⟦ "{c}": {"S": "{v}"}⟧⏎}⏎
"""

OPTIONS = r"""
restic ¦ .sh ¦ P ¦ RESTIC_PASSWORD='{v}' restic -r sftp:{u}@{h}:/backup snapshots
borg ¦ .sh ¦ P ¦ export BORG_PASSPHRASE='{v}'; borg create ::nightly /srv
lftp ¦ .sh ¦ p ¦ lftp -u {u},{v} -e "mirror -R out; bye" {h}
smbclient ¦ .sh ¦ p ¦ smbclient //{h}/share -U {u}%{v} -c 'ls'
mount cifs ¦ .sh ¦ p ¦ mount -t cifs //{h}/data /mnt/data -o username={u},password={v},vers=3.0
aws configure ¦ .sh ¦ A ¦ aws configure set aws_secret_access_key {v} --profile ci
az login ¦ .sh ¦ s ¦ az login --service-principal -u 6f2d1c3e-aaaa-4bbb-8ccc-0123456789ab -p {v} --tenant contoso.onmicrosoft.com
vault write ¦ .sh ¦ p ¦ vault write auth/userpass/users/{u} password={v} policies=dev
vault kv put ¦ .sh ¦ pTK ¦ vault kv put secret/shop {n}={v} ttl=30m
cqlsh ¦ .sh ¦ P ¦ cqlsh {h} 9042 -u {u} -p '{v}' -e 'DESCRIBE KEYSPACES'
clickhouse client ¦ .sh ¦ P ¦ clickhouse-client --host {h} --user {u} --password '{v}' --query 'SELECT 1'
influx ¦ .md ¦ p ¦ ⏎    influx -host {h} -username {u} -password {v} -execute 'SHOW DATABASES'⏎
sqlplus ¦ .sh ¦ p ¦ sqlplus -S {u}/{v}@{h}:1521/ORCL @load.sql
rabbitmqctl ¦ .sh ¦ P ¦ rabbitmqctl add_user {u} '{v}'
rabbitmqctl change ¦ Dockerfile ¦ p ¦ FROM rabbitmq:3⏎⟦RUN rabbitmqctl change_password {u} {v}⟧⏎
mosquitto ¦ .sh ¦ P ¦ mosquitto_pub -h {h} -t home/temp -m 21 -u {u} -P '{v}'
ssh-keygen ¦ .sh ¦ P ¦ ssh-keygen -t ed25519 -N '{v}' -f ./id_deploy
openssl enc ¦ .sh ¦ P ¦ openssl enc -d -aes-256-cbc -pbkdf2 -in secrets.tar.enc -k '{v}' | tar x
jarsigner ¦ .sh ¦ p ¦ jarsigner -keystore release.jks -storepass {v} app.aab upload
apksigner ¦ .sh ¦ p ¦ apksigner sign --ks release.jks --ks-pass pass:{v} app.apk
signtool ¦ .bat ¦ p ¦ signtool sign /f cert.pfx /p {v} /tr http://timestamp.example.org setup.exe
macos keychain ¦ .sh ¦ P ¦ security unlock-keychain -p "{v}" build.keychain
notarytool ¦ .sh ¦ p ¦ xcrun notarytool submit app.zip --apple-id {u}@example.org --team-id A1B2C3D4E5 --password {v}
nuget source ¦ .ps1 ¦ pT ¦ nuget sources add -Name Feed -Source https://{h}/nuget -UserName {u} -Password {v} -StorePasswordInClearText
dotnet push ¦ .yml ¦ T ¦ - run: dotnet nuget push *.nupkg -s https://{h}/v3/index.json -k {v}
twine ¦ .sh ¦ pT ¦ twine upload --repository-url https://{h}/ -u {u} -p {v} dist/*
npm config set ¦ .sh ¦ T ¦ npm config set //{h}/:_authToken {v}
composer auth ¦ .sh ¦ pT ¦ composer config --global http-basic.{h} {u} {v}
pip index ¦ Dockerfile ¦ p ¦ FROM python:3.12⏎⟦RUN pip install --extra-index-url https://{u}:{v}@{h}/simple shop-core⟧⏎
maven property ¦ .sh ¦ pT ¦ mvn -B deploy -Dusername={u} -Dpassword={v}
sonar scanner ¦ .yml ¦ pT ¦ script: sonar-scanner -Dsonar.host.url=https://{h} -Dsonar.login={v}
git clone ¦ .sh ¦ p ¦ git clone --depth 1 https://{u}:{v}@{h}/team/infra.git
gh login ¦ .sh ¦ T ¦ echo "{v}" | gh auth login --hostname {h} --with-token
heroku config ¦ .md ¦ pTK ¦ Then run `heroku config:set {N}={v} -a shop`.
fly secrets ¦ .sh ¦ pTK ¦ flyctl secrets set {N}="{v}" --app shop
terraform var ¦ .sh ¦ pT ¦ terraform apply -auto-approve -var '{n}={v}'
pulumi secret ¦ .sh ¦ pT ¦ pulumi config set --secret shop:{c} {v}
kubectl registry ¦ .sh ¦ pT ¦ kubectl create secret docker-registry regcred --docker-server={h} --docker-username={u} --docker-password={v}
kubectl token ¦ .sh ¦ T ¦ kubectl --server=https://{h}:6443 --token={v} get pods
argocd ¦ .sh ¦ P ¦ argocd login {h} --username admin --password '{v}' --insecure
helm repo ¦ .sh ¦ P ¦ helm repo add inner https://{h}/charts --username {u} --password '{v}'
skopeo ¦ .sh ¦ p ¦ skopeo copy --dest-creds {u}:{v} docker://alpine docker://{h}/alpine
curl form ¦ .sh ¦ P ¦ curl -s -c jar -F 'login={u}' -F 'password={v}' https://{h}/session
curl json body ¦ .sh ¦ P ¦ curl -X POST -H 'Content-Type: application/json' -d '{"username":"{u}","password":"{v}"}' https://{h}/api/token
curl proxy ¦ .sh ¦ p ¦ curl --proxy-user {u}:{v} -x http://{h}:3128 https://example.org/
plink ¦ .bat ¦ p ¦ plink -ssh {u}@{h} -pw {v} "systemctl restart app"
psexec ¦ .bat ¦ p ¦ psexec \\{h} -u {u} -p {v} cmd /c ipconfig
net user ¦ .bat ¦ p ¦ net user {u} {v} /add
schtasks ¦ .bat ¦ p ¦ schtasks /create /tn nightly /tr job.cmd /sc daily /ru {u} /rp {v}
nmcli ¦ .sh ¦ P ¦ nmcli device wifi connect attic password '{v}'
nmcli modify ¦ .sh ¦ P ¦ nmcli connection modify attic wifi-sec.key-mgmt wpa-psk wifi-sec.psk '{v}'
cisco user ¦ r1-confg.txt ¦ p ¦ hostname r1⏎!⏎⟦username {u} privilege 15 password 0 {v}⟧⏎!⏎line vty 0 4⏎
cisco snmp and enable ¦ sw2.cfg ¦ p ¦ hostname sw2⏎⟦enable password {v}⟧⏎ip domain-name example.org⏎
cisco radius ¦ asa.cfg ¦ s ¦ aaa-server RAD protocol radius⏎⟦aaa-server RAD (inside) host 10.0.0.5 key {v}⟧⏎
mikrotik ¦ backup.rsc ¦ P ¦ /system identity set name=gw⏎⟦/user add name={u} group=full password="{v}"⟧⏎
fortinet ¦ fw.conf ¦ p ¦ config vpn ipsec phase1-interface⏎    edit "hq"⏎⟦        set psksecret {v}⟧⏎    next⏎end⏎
openvpn auth file ¦ vpn/auth.txt ¦ P ¦ {u}⏎⟦{v}⟧⏎
ipsec secrets ¦ ipsec.secrets ¦ P ¦ # ipsec.secrets⏎⟦{h} %any : PSK "{v}"⟧⏎
samba-tool ¦ .sh ¦ P ¦ samba-tool user create {u} '{v}' --mail-address={u}@example.org
unzip ¦ .sh ¦ p ¦ unzip -P {v} -o export.zip -d /tmp/export
ejabberd ¦ .sh ¦ p ¦ ejabberdctl register {u} {h} {v}
redis requirepass ¦ docker-compose.yaml ¦ p ¦ services:⏎  cache:⏎    image: redis:7⏎⟦    command: redis-server --requirepass {v} --appendonly yes⟧⏎
flower ¦ supervisord.conf ¦ p ¦ [program:flower]⏎⟦command=celery -A shop flower --basic_auth={u}:{v}⟧⏎autostart=true⏎
crontab ¦ crontab.txt ¦ p ¦ MAILTO=ops⏎⟦15 3 * * * /usr/bin/mysqldump --user={u} --password={v} shop | gzip > /backup/shop.gz⟧⏎
minio client ¦ .sh ¦ A ¦ mc alias set store https://{h} AKIA{x16} {v}
expect ¦ deploy.exp ¦ p ¦ spawn ssh {u}@{h}⏎expect "password:"⏎⟦send "{v}\r"⟧⏎interact⏎
gitlab ci script ¦ ci/.gitlab-ci.yml ¦ pT ¦ deploy:⏎  script:⏎⟦    - echo "{v}" | docker login -u {u} --password-stdin {h}⟧⏎
k6 env ¦ .sh ¦ pT ¦ k6 run -e BASE=https://{h} -e {N}={v} load.js
newman ¦ package.json ¦ pT ¦ {"scripts": {⏎⟦  "test:api": "newman run flow.json --env-var \"{c}={v}\""⟧⏎}}⏎
go exec ¦ .go ¦ P ¦ cmd := exec.Command("mysqldump", "--user={u}", "--password={v}", "shop")
launch arguments ¦ launch.json ¦ pT ¦ {"configurations": [{"name": "run", "args": [⏎⟦   "--{k}={v}",⟧⏎   "--verbose"]}]}⏎
kubernetes args ¦ deploy.yaml ¦ pT ¦ containers:⏎- name: api⏎  args:⏎  - --port=80⏎⟦  - --{k}={v}⟧⏎
"""

CLASSES = {
    "direct assignments": DIRECT, "chosen passwords": CHOSEN, "decoded text": DECODED, "columns and SQL": COLUMNS,
    "name and value apart": APART, "wrapped values": WRAPPED, "command options": OPTIONS,
    "natural languages": LANGUAGES, "documents": DOCUMENTS, "keys as bytes": BYTES,
}  # fmt: skip
