# ruff: noqa: E501
"""Ways in which people write credentials down: the styles of the sixth hold-out (`outside_blind.py --set sixth`).

NOT TO BE READ by anyone who writes or changes a rule of hush: it is a hold-out only as long as nothing is tuned on
it. Written on 2026-11-28 by a reviewer who had read no rule and none of the older sets but their first lines.

Sources are public formats and manuals: the settings of web frameworks (Django, Rails, Laravel, Symfony, Spring,
ASP.NET, Phoenix), of content systems, of servers (Postfix, Dovecot, Redis, Elastic, Kafka, Tomcat, HAProxy, Grafana,
Keycloak, Synapse), of networks (Cisco, Junos, FortiOS, RouterOS, strongSwan, OpenVPN, wpa_supplicant, hostapd), of
tools that set machines up (Ansible, Terraform, Helm, Kubernetes, cloud-init, kickstart, preseed, unattended Windows),
exports of password managers, database dumps, HAR, Postman, notebooks, the options in manuals of commands, and texts
as people write them in wikis, tickets, mails and chats.

A row: name ¦ places ¦ families ¦ text; ⏎ a line break, ⇥ a tab, ⟦⟧ the entry. {v} the value, {n} {N} {k} {P} {c} its
name in five cases, {u} a user, {h} a host, {w} another password, {m} the value with its breaks as \\n, ‹b64 …› what
stands encoded, {l:BEFORE|AFTER} every line of a value, {b:FORMAT} a key's bytes. Families: `outside_sixth_types`.
"""

from outside_sixth_more import APART, BYTES, DOCUMENTS, LANGUAGES, OPTIONS, WRAPPED

DIRECT = r"""
django secret key ¦ .py ¦ K ¦ SECRET_KEY = "{v}"
django database ¦ config/settings/production.py ¦ PpW ¦ from .base import *⏎⏎DATABASES = {⏎    "default": {⏎        "ENGINE": "django.db.backends.postgresql",⏎        "NAME": "orders",⏎        "USER": "{u}",⏎⟦        "PASSWORD": "{v}",⟧⏎        "HOST": "{h}",⏎    }⏎}⏎
rails database.yml ¦ config/database.yml ¦ PpW ¦ production:⏎  adapter: mysql2⏎  database: shop_production⏎  username: {u}⏎⟦  password: {v}⟧⏎  host: {h}⏎
rails secrets.yml ¦ config/secrets.yml ¦ K ¦ development:⏎  debug: true⏎⏎production:⏎⟦  secret_key_base: {v}⟧⏎
laravel mail ¦ .env ¦ PSp ¦ MAIL_MAILER=smtp⏎MAIL_HOST={h}⏎MAIL_USERNAME={u}⏎⟦MAIL_PASSWORD="{v}"⟧⏎MAIL_ENCRYPTION=tls⏎
spring datasource ¦ application-prod.yml ¦ PpWS ¦ spring:⏎  datasource:⏎    url: jdbc:postgresql://{h}:5432/claims⏎    username: {u}⏎⟦    password: {v}⟧⏎    hikari:⏎      maximum-pool-size: 10⏎
spring property ¦ .properties ¦ PSp ¦ spring.mail.password={v}
symfony parameters ¦ app/config/parameters.yml ¦ K ¦ parameters:⏎    database_host: {h}⏎    mailer_transport: smtp⏎⟦    secret: {v}⟧⏎
wordpress ¦ wp-config.php ¦ PpS ¦ <?php⏎define( 'DB_NAME', 'wp_blog' );⏎define( 'DB_USER', '{u}' );⏎⟦define( 'DB_PASSWORD', '{v}' );⟧⏎define( 'DB_HOST', '{h}' );⏎$table_prefix = 'wp_';⏎
joomla ¦ configuration.php ¦ PpS ¦ <?php⏎class JConfig {⏎⇥public $offline = '0';⏎⇥public $user = '{u}';⏎⟦⇥public $password = '{v}';⟧⏎⇥public $db = 'joomla';⏎}⏎
drupal hash salt ¦ sites/default/settings.php ¦ K ¦ <?php⏎⟦$settings['hash_salt'] = '{v}';⟧⏎$settings['update_free_access'] = FALSE;⏎
magento crypt ¦ app/etc/env.php ¦ K ¦ <?php⏎return [⏎    'backend' => ['frontName' => 'admin_9x2'],⏎    'crypt' => [⏎⟦        'key' => '{v}'⟧⏎    ],⏎];⏎
gitea ¦ custom/conf/app.ini ¦ PpS ¦ APP_NAME = Forge⏎[database]⏎DB_TYPE = mysql⏎USER = {u}⏎⟦PASSWD = {v}⟧⏎SSL_MODE = disable⏎
odoo ¦ odoo.conf ¦ PpW ¦ [options]⏎db_host = {h}⏎db_user = {u}⏎⟦admin_passwd = {v}⟧⏎workers = 4⏎
redis.conf ¦ redis.conf ¦ PSWr ¦ bind 0.0.0.0⏎port 6379⏎⟦requirepass {v}⟧⏎appendonly yes⏎
redis replica ¦ redis-replica.conf ¦ SW ¦ replicaof {h} 6379⏎⟦masterauth {v}⟧⏎replica-read-only yes⏎
mosquitto bridge ¦ mosquitto.conf ¦ PpS ¦ connection plant-b⏎address {h}:8883⏎remote_username {u}⏎⟦remote_password {v}⟧⏎topic sensors/# out 1⏎
kibana ¦ kibana.yml ¦ Sr ¦ server.port: 5601⏎elasticsearch.hosts: ["https://{h}:9200"]⏎elasticsearch.username: "kibana_system"⏎⟦elasticsearch.password: "{v}"⟧⏎
synapse ¦ homeserver.yaml ¦ KPr ¦ server_name: "{h}"⏎report_stats: false⏎⟦registration_shared_secret: "{v}"⟧⏎enable_registration: false⏎
alertmanager ¦ alertmanager.yml ¦ PSp ¦ global:⏎  smtp_smarthost: '{h}:587'⏎  smtp_auth_username: '{u}'⏎⟦  smtp_auth_password: '{v}'⟧⏎route:⏎  receiver: ops⏎
slack receiver ¦ monitoring/alertmanager.yml ¦ h ¦ receivers:⏎  - name: ops⏎    slack_configs:⏎⟦      - api_url: '{v}'⟧⏎        channel: '#ops'⏎
tfvars ¦ prod.auto.tfvars ¦ PSTU ¦ region        = "eu-central-1"⏎instance_type = "t3.medium"⏎⟦{n} = "{v}"⟧⏎
helm values ¦ values-prod.yaml ¦ SpW ¦ image:⏎  tag: 1.14.2⏎postgresql:⏎  auth:⏎    username: {u}⏎⟦    password: {v}⟧⏎    database: keycloak⏎
group vars ¦ group_vars/all.yml ¦ PSpT ¦ ---⏎ntp_server: 0.pool.ntp.org⏎⟦{n}: "{v}"⟧⏎timezone: Europe/Oslo⏎
go struct literal ¦ .go ¦ PSTU ¦ cfg := Config{Addr: ":8080", User: "{u}", {P}: "{v}"}
c# initializer ¦ .cs ¦ PSTK ¦         public string {P} { get; set; } = "{v}";
java constant ¦ .java ¦ PSTU ¦     private static final String {N} = "{v}";
ruby constant ¦ .rb ¦ PTUK ¦   {N} = '{v}'.freeze
angular environment ¦ src/environments/environment.prod.ts ¦ TU ¦ export const environment = {⏎  production: true,⏎  apiUrl: 'https://{h}/api',⏎⟦  {c}: '{v}',⟧⏎};⏎
typescript fallback ¦ .ts ¦ KTS ¦ const {c} = process.env.{N} ?? "{v}";
python fallback ¦ .py ¦ KTUP ¦ {n} = os.environ.get("{N}", "{v}")
postfix mysql map ¦ mysql-virtual-mailboxes.cf ¦ SpP ¦ user = {u}⏎⟦password = {v}⟧⏎hosts = 127.0.0.1⏎dbname = mailserver⏎query = SELECT 1 FROM virtual_users WHERE email='%s'⏎
dovecot sql ¦ dovecot-sql.conf.ext ¦ SpW ¦ driver = mysql⏎⟦connect = host={h} dbname=mailserver user={u} password={v}⟧⏎default_pass_scheme = SHA512-CRYPT⏎
my.cnf ¦ mysql/my.cnf ¦ PSp ¦ [client]⏎user={u}⏎⟦password="{v}"⟧⏎host={h}⏎
systemd environment ¦ orders-api.service ¦ STUW ¦ [Service]⏎User=orders⏎⟦Environment="{N}={v}"⟧⏎ExecStart=/opt/orders/bin/api⏎Restart=always⏎
network manager ¦ office-vpn.nmconnection ¦ PpW ¦ [vpn-secrets]⏎⟦password={v}⟧⏎⏎[ipv4]⏎method=auto⏎
dockerfile env ¦ Dockerfile ¦ STU ¦ FROM python:3.12-slim⏎⟦ENV {N}={v}⟧⏎COPY . /app⏎CMD ["python", "-m", "app"]⏎
cisco user ¦ sw-core-01.cfg ¦ SpW ¦ hostname sw-core-01⏎!⏎⟦username {u} privilege 15 password 0 {v}⟧⏎line vty 0 4⏎ login local⏎
cisco tacacs ¦ rtr-edge.conf ¦ Sp ¦ aaa new-model⏎tacacs server ISE-1⏎ address ipv4 10.9.0.4⏎⟦ key {v}⟧⏎!⏎
snmp community ¦ snmpd.conf ¦ SpW ¦ sysLocation Rack 7⏎⟦createUser {u} SHA "{v}" AES⟧⏎rouser {u} priv⏎
fortigate psk ¦ fw-backup.conf ¦ SpP ¦ config vpn ipsec phase1-interface⏎    edit "HQ"⏎        set interface "wan1"⏎⟦        set psksecret {v}⟧⏎    next⏎end⏎
junos ike ¦ srx300.conf ¦ PpSV ¦ security {⏎    ike {⏎        policy ike-branch {⏎            mode main;⏎⟦            pre-shared-key ascii-text "{v}";⟧⏎        }⏎    }⏎}⏎
haproxy userlist ¦ haproxy.cfg ¦ SpW ¦ userlist stats⏎⟦    user {u} insecure-password {v}⟧⏎frontend web⏎    bind :443⏎
wireguard ¦ wg0.conf ¦ k ¦ [Interface]⏎Address = 10.66.0.2/32⏎⟦PrivateKey = {v}⟧⏎DNS = 10.66.0.1⏎
"""
CHOSEN = r'''
tomcat users ¦ conf/tomcat-users.xml ¦ pWL ¦ <tomcat-users>⏎  <role rolename="manager-gui"/>⏎⟦  <user username="{u}" password="{v}" roles="manager-gui"/>⟧⏎</tomcat-users>⏎
ansible inventory ¦ inventories/prod/hosts.ini ¦ pW ¦ [web]⏎⟦web1 ansible_host=10.3.1.11 ansible_user={u} ansible_password={v}⟧⏎[web:vars]⏎http_port=80⏎
compose root password ¦ docker-compose.yml ¦ pL ¦ services:⏎  db:⏎    image: mariadb:10.11⏎    environment:⏎⟦      MARIADB_ROOT_PASSWORD: {v}⟧⏎    volumes:⏎      - data:/var/lib/mysql⏎
django client login ¦ .py ¦ pL ¦ self.client.login(username="{u}", password="{v}")
cypress ¦ cypress/e2e/login.cy.ts ¦ pL ¦ describe('login', () => {⏎  it('opens the board', () => {⏎    cy.visit('/login')⏎    cy.get('input[name=email]').type('{u}@halden-logistik.de')⏎⟦    cy.get('input[name=password]').type('{v}')⟧⏎    cy.get('form').submit()⏎  })⏎})⏎
playwright ¦ tests/auth.setup.ts ¦ pW ¦ import { test as setup } from '@playwright/test';⏎setup('sign in', async ({ page }) => {⏎  await page.goto('https://{h}/');⏎  await page.getByLabel('Email').fill('{u}@tessera.dev');⏎⟦  await page.getByLabel('Password').fill('{v}');⟧⏎});⏎
selenium ¦ .py ¦ pL ¦ driver.find_element(By.ID, "passwd").send_keys("{v}")
selenium, java ¦ .java ¦ pW ¦         driver.findElement(By.name("password")).sendKeys("{v}");
wpa_supplicant ¦ wpa_supplicant.conf ¦ pVWL ¦ ctrl_interface=/run/wpa_supplicant⏎network={⏎    ssid="Lagerhalle-2"⏎⟦    psk="{v}"⟧⏎    key_mgmt=WPA-PSK⏎}⏎
hostapd ¦ hostapd.conf ¦ pWV ¦ interface=wlan0⏎ssid=workshop⏎wpa=2⏎⟦wpa_passphrase={v}⟧⏎wpa_key_mgmt=WPA-PSK⏎
home assistant ¦ secrets.yaml ¦ pWL ¦ latitude: 59.91⏎⟦mqtt_password: {v}⟧⏎tz: Europe/Oslo⏎
esphome ¦ heatpump.yaml ¦ pV ¦ esphome:⏎  name: heatpump⏎wifi:⏎  ssid: "Skogveien"⏎⟦  password: "{v}"⟧⏎logger:⏎
arduino ¦ firmware.ino ¦ pV ¦ #include <WiFi.h>⏎const char* ssid = "atelier";⏎⟦const char* password = "{v}";⟧⏎void setup() { WiFi.begin(ssid, password); }⏎
rails seeds ¦ .rb ¦ pL ¦ User.create!(email: "{u}@brightwater.org", password: "{v}", admin: true)
laravel seeder ¦ database/seeders/AdminSeeder.php ¦ pL ¦ <?php⏎class AdminSeeder extends Seeder⏎{⏎    public function run()⏎    {⏎        User::create([⏎            'email' => '{u}@marlowe-print.co.uk',⏎⟦            'password' => Hash::make('{v}'),⟧⏎        ]);⏎    }⏎}⏎
asp.net seed ¦ .cs ¦ pL ¦         await userManager.CreateAsync(administrator, "{v}");
kickstart ¦ ks.cfg ¦ pWL ¦ lang en_US.UTF-8⏎keyboard us⏎⟦rootpw --plaintext {v}⟧⏎timezone UTC⏎
preseed ¦ preseed.cfg ¦ pL ¦ d-i passwd/username string {u}⏎⟦d-i passwd/user-password password {v}⟧⏎d-i clock-setup/utc boolean true⏎
unattended windows ¦ autounattend.xml ¦ pW ¦ <UserAccounts>⏎  <AdministratorPassword>⏎⟦    <Value>{v}</Value>⟧⏎    <PlainText>true</PlainText>⏎  </AdministratorPassword>⏎</UserAccounts>⏎
robot framework ¦ login.robot ¦ pL ¦ *** Variables ***⏎${URL}         https://{h}⏎${USER}        {u}⏎⟦${PASSWORD}    {v}⟧⏎
gherkin ¦ features/login.feature ¦ pVL ¦ Feature: Login⏎  Scenario: Admin signs in⏎    Given I am on the login page⏎⟦    When I sign in as "{u}" with password "{v}"⟧⏎    Then I see the dashboard⏎
cifs credentials ¦ etc/smb-credentials ¦ pL ¦ username={u}⏎⟦password={v}⟧⏎domain=HALDEN⏎
cloud-init chpasswd ¦ user-data.yaml ¦ pW ¦ #cloud-config⏎ssh_pwauth: true⏎chpasswd:⏎  expire: false⏎  list: |⏎⟦    {u}:{v}⟧⏎
keycloak user ¦ realm-export.json ¦ pL ¦ {"realm": "plant", "users": [{⏎  "username": "{u}",⏎  "enabled": true,⏎⟦  "credentials": [{"type": "password", "value": "{v}", "temporary": false}]⟧⏎}]}⏎
grafana.ini ¦ grafana.ini ¦ pW ¦ [security]⏎admin_user = {u}⏎⟦admin_password = """{v}"""⟧⏎[users]⏎allow_sign_up = false⏎
jenkins casc ¦ jenkins.yaml ¦ pL ¦ jenkins:⏎  securityRealm:⏎    local:⏎      users:⏎        - id: "{u}"⏎⟦          password: "{v}"⟧⏎
moodle ¦ moodle/config.php ¦ pL ¦ <?php⏎$CFG->dbtype    = 'mariadb';⏎$CFG->dbuser    = '{u}';⏎⟦$CFG->dbpass    = '{v}';⟧⏎$CFG->prefix    = 'mdl_';⏎
nextcloud autoconfig ¦ config/autoconfig.php ¦ pW ¦ <?php⏎$AUTOCONFIG = [⏎  "dbtype" => "pgsql",⏎  "adminlogin" => "{u}",⏎⟦  'adminpass' => '{v}',⟧⏎];⏎
obs websocket ¦ plugin_config/obs-websocket/config.json ¦ pV ¦ {⏎    "auth_required": true,⏎    "server_port": 4455,⏎⟦    "server_password": "{v}"⟧⏎}⏎
vagrant ¦ Vagrantfile ¦ pL ¦ Vagrant.configure("2") do |config|⏎  config.vm.box = "win2019"⏎  config.winrm.username = "{u}"⏎⟦  config.winrm.password = "{v}"⟧⏎end⏎
'''
DECODED = r"""
kubernetes secret ¦ k8s/secret.yaml ¦ PSpWTK ¦ apiVersion: v1⏎kind: Secret⏎metadata:⏎  name: orders⏎type: Opaque⏎data:⏎⟦  {k}: ‹b64 {v}›⟧⏎
kubernetes secret, newline kept ¦ db-secret.yml ¦ PSpW ¦ apiVersion: v1⏎kind: Secret⏎metadata:⏎  name: mysql-root⏎data:⏎⟦  password: ‹b64 {v}⏎›⟧⏎
kubernetes secret, json ¦ backup/secret-dump.json ¦ PSTU ¦ {"apiVersion": "v1", "kind": "List", "items": [{⏎  "kind": "Secret",⏎⟦  "data": {"{n}": "‹b64 {v}›"},⟧⏎  "type": "Opaque"⏎}]}⏎
kubeconfig client key ¦ kubeconfig.yaml ¦ M ¦ users:⏎- name: {u}⏎  user:⏎⟦    client-key-data: ‹b64 {v}›⟧⏎current-context: prod⏎
pull secret, nested ¦ regcred.yaml ¦ Spr ¦ kind: Secret⏎type: kubernetes.io/dockerconfigjson⏎data:⏎⟦  .dockerconfigjson: ‹b64 {"auths":{"{h}":{"username":"{u}","password":"{v}"}}}›⟧⏎
docker config ¦ .docker/config.json docker/config.json ¦ SpT ¦ {⏎  "auths": {⏎    "{h}": {⏎⟦      "auth": "‹b64 {u}:{v}›"⟧⏎    }⏎  }⏎}⏎
npm registry password ¦ .npmrc ¦ PSr ¦ registry=https://{h}/npm/⏎//{h}/npm/:username={u}⏎⟦//{h}/npm/:_password=‹b64 {v}›⟧⏎//{h}/npm/:always-auth=true⏎
basic header, python ¦ .py ¦ PSpW ¦ headers = {"Authorization": "Basic ‹b64 {u}:{v}›", "Accept": "application/json"}
basic header, go ¦ .go ¦ PSp ¦ req.Header.Set("Authorization", "Basic ‹b64 {u}:{v}›")
basic header, curl ¦ .sh ¦ PSpT ¦ curl -s -H 'Authorization: Basic ‹b64 {u}:{v}›' https://{h}/api/v2/items
nginx upstream auth ¦ nginx/sites/reports.conf ¦ Sp ¦ location /reports/ {⏎    proxy_pass http://{h}:8080/;⏎⟦    proxy_set_header Authorization "Basic ‹b64 {u}:{v}›";⟧⏎}⏎
python b64decode ¦ .py ¦ PSTUp ¦ {n} = base64.b64decode("‹b64 {v}›").decode()
javascript atob ¦ .js .ts ¦ TUS ¦ const {c} = atob("‹b64 {v}›");
node buffer ¦ .ts ¦ PSTU ¦ const {c} = Buffer.from("‹b64 {v}›", "base64").toString("utf8");
php base64_decode ¦ .php ¦ PSpT ¦ ${n} = base64_decode('‹b64 {v}›');
java decoder ¦ .java ¦ PSTU ¦         String {c} = new String(Base64.getDecoder().decode("‹b64 {v}›"));
c# from base64 ¦ .cs ¦ PSpU ¦             var {c} = Encoding.UTF8.GetString(Convert.FromBase64String("‹b64 {v}›"));
ruby decode64 ¦ .rb ¦ PSTp ¦     {n} = Base64.strict_decode64('‹b64 {v}›')
shell base64 -d ¦ .sh ¦ PSTU ¦ {N}=$(echo '‹b64 {v}›' | base64 -d)
powershell from base64 ¦ deploy.ps1 ¦ PSp ¦ param([string]$Stage)⏎⟦${P} = [Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('‹b64 {v}›'))⟧⏎Write-Host $Stage⏎
hex in python ¦ .py ¦ PSTW ¦ {n} = bytes.fromhex("‹hex {v}›").decode("ascii")
xxd ¦ .sh ¦ PSU ¦ export {N}="$(printf '‹hex {v}›' | xxd -r -p)"
unhex in sql ¦ .sql ¦ PSp ¦ UPDATE mail_account SET password = UNHEX('‹hex {v}›') WHERE login = '{u}';
filezilla ¦ sitemanager.xml ¦ PpWL ¦ <FileZilla3>⏎  <Servers>⏎    <Server>⏎      <Host>{h}</Host>⏎      <User>{u}</User>⏎⟦      <Pass encoding="base64">‹b64 {v}›</Pass>⟧⏎    </Server>⏎  </Servers>⏎</FileZilla3>⏎
url in env ¦ .env ¦ PV ¦ NODE_ENV=production⏎⟦DATABASE_URL=postgres://{u}:‹url {v}›@{h}:5432/app⟧⏎PORT=3000⏎
airflow connection ¦ airflow.env ¦ PV ¦ AIRFLOW__CORE__EXECUTOR=LocalExecutor⏎⟦AIRFLOW_CONN_WAREHOUSE=mysql://{u}:‹url {v}›@{h}:3306/dwh⟧⏎
login form in har ¦ session.har ¦ PpVL ¦ {"log": {"entries": [{"request": {"method": "POST", "url": "https://{h}/oauth/token",⏎  "postData": {⏎    "mimeType": "application/x-www-form-urlencoded",⏎⟦    "text": "grant_type=password&username={u}&password=‹url {v}›&client_id=web"⟧⏎  }}}]}}⏎
gzipped cloud-init ¦ cloud-init/write-files.yaml ¦ PSTU ¦ #cloud-config⏎write_files:⏎  - path: /etc/agent/env⏎    encoding: gz+b64⏎⟦    content: ‹gz {N}={v}⏎LOG_LEVEL=info⏎›⟧⏎    permissions: '0600'⏎
service account in env ¦ ci/google.env ¦ M ¦ GCP_PROJECT=norvik-prod⏎⟦GOOGLE_CREDENTIALS_B64=‹b64 {"type":"service_account","project_id":"norvik-prod","private_key":"{m}\n","client_email":"ci@norvik-prod.iam.gserviceaccount.com"}›⟧⏎
smtp dialogue ¦ mail-debug.log ¦ PSp ¦ S: 220 {h} ESMTP⏎C: AUTH LOGIN⏎S: 334 VXNlcm5hbWU6⏎C: ‹b64 ops@tessera.dev›⏎S: 334 UGFzc3dvcmQ6⏎⟦C: ‹b64 {v}›⟧⏎S: 235 2.7.0 Authentication successful⏎
ansible b64decode ¦ roles/app/vars/main.yml ¦ PSU ¦ ---⏎app_user: {u}⏎⟦{n}: "{{ '‹b64 {v}›' | b64decode }}"⟧⏎
"""
COLUMNS = r"""
mysql create user ¦ .sql ¦ PSpL ¦ CREATE USER '{u}'@'%' IDENTIFIED BY '{v}';
mysql grant ¦ .sql ¦ SpW ¦ GRANT ALL PRIVILEGES ON shop.* TO '{u}'@'10.%' IDENTIFIED BY '{v}' WITH GRANT OPTION;
postgres role ¦ .sql ¦ PSpW ¦ CREATE ROLE "{u}" WITH LOGIN ENCRYPTED PASSWORD '{v}';
sql server login ¦ .sql ¦ PSp ¦ CREATE LOGIN [{u}] WITH PASSWORD = N'{v}', CHECK_POLICY = OFF;
linked server ¦ .sql ¦ PSp ¦ EXEC sp_addlinkedsrvlogin @rmtsrvname = N'ERP', @useself = N'False', @rmtuser = N'{u}', @rmtpassword = N'{v}';
oracle user ¦ oracle/users.sql ¦ PSp ¦ SET DEFINE OFF⏎⟦CREATE USER billing IDENTIFIED BY "{v}" DEFAULT TABLESPACE users;⟧⏎GRANT CONNECT TO billing;⏎
insert, one row ¦ .sql ¦ pTUL ¦ INSERT INTO integrations (id, vendor, login, secret, active) VALUES (14, 'erp', '{u}', '{v}', 1);
mysqldump, rows ¦ dump.sql ¦ prPL ¦ CREATE TABLE `accounts` (`id` int, `login` varchar(64), `password` varchar(128), `created` date);⏎⟦INSERT INTO `accounts` VALUES (1,'{u}','{v}','2021-04-02'),⟧⏎(2,'warehouse','{w}','2021-04-09');⏎
pg_dump copy ¦ pg_dump.sql ¦ prTL ¦ COPY public.mail_accounts (id, address, password, quota) FROM stdin;⏎⟦7⇥{u}@halden-logistik.de⇥{v}⇥2048⟧⏎\.⏎
wordpress options ¦ wp_options.sql ¦ Ppr ¦ INSERT INTO `wp_options` (`option_id`, `option_name`, `option_value`, `autoload`) VALUES⏎(21, 'mailserver_login', '{u}', 'yes'),⏎⟦(22, 'mailserver_pass', '{v}', 'yes'),⟧⏎(23, 'mailserver_port', '110', 'yes');⏎
replication ¦ .sql ¦ PSp ¦ CHANGE MASTER TO MASTER_HOST='{h}', MASTER_USER='{u}', MASTER_PASSWORD='{v}', MASTER_LOG_POS=107;
user mapping ¦ .sql ¦ PSp ¦ CREATE USER MAPPING FOR reporting SERVER legacy OPTIONS (user '{u}', password '{v}');
dblink ¦ .sql ¦ SpW ¦ SELECT * FROM dblink('host={h} dbname=hr user={u} password={v}', 'SELECT id FROM staff') AS t(id int);
redshift copy ¦ load_events.sql ¦ Y ¦ COPY events FROM 's3://norvik-events/2024/'⏎⟦CREDENTIALS 'aws_access_key_id=AKIAQ4KXTE7M2JPRVN5L;aws_secret_access_key={v}'⟧⏎GZIP CSV;⏎
snowflake stage ¦ stage.sql ¦ Y ¦ CREATE OR REPLACE STAGE raw URL='s3://norvik-raw/'⏎⟦  CREDENTIALS=(AWS_KEY_ID='AKIAV6ZQWY3HLMT2B7XN' AWS_SECRET_KEY='{v}');⟧⏎
duckdb secret ¦ attach.sql ¦ Y ¦ CREATE SECRET lake (TYPE s3, KEY_ID 'GK31c2f218a2e44f485b94239e',⏎⟦  SECRET '{v}', ENDPOINT '{h}');⟧⏎
cassandra role ¦ schema.cql ¦ PSpW ¦ CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};⏎⟦CREATE ROLE {u} WITH PASSWORD = '{v}' AND LOGIN = true;⟧⏎
mongo create user ¦ mongo-init.js ¦ PSpL ¦ db = db.getSiblingDB('orders');⏎⟦db.createUser({ user: '{u}', pwd: '{v}', roles: ['readWrite'] });⟧⏎
bitwarden csv ¦ bitwarden_export.csv ¦ PpVTL ¦ folder,favorite,type,name,notes,fields,reprompt,login_uri,login_username,login_password,login_totp⏎⟦Infra,,login,{h},,,0,https://{h},{u},{v},⟧⏎
chrome csv ¦ Chrome Passwords.csv chrome_passwords.csv ¦ PpWL ¦ name,url,username,password,note⏎⟦{h},https://{h}/login,{u},{v},⟧⏎
keepass csv ¦ keepass.csv ¦ PpVL ¦ "Account","Login Name","Password","Web Site","Comments"⏎⟦"Backup NAS","{u}","{v}","https://{h}","rack 2"⟧⏎
lastpass csv ¦ lastpass_export.csv ¦ PpW ¦ url,username,password,totp,extra,name,grouping,fav⏎⟦https://{h},{u},{v},,,monitoring,Ops,0⟧⏎
semicolons ¦ zugaenge.csv ¦ PpWL ¦ System;Host;Benutzer;Kennwort;Bemerkung⏎⟦NAS;{h};{u};{v};Keller⟧⏎
pgpass ¦ pgpass.conf home/.pgpass ¦ PSpW ¦ localhost:5432:*:postgres:{w}⏎⟦{h}:5432:orders:{u}:{v}⟧⏎
chap secrets ¦ ppp/chap-secrets ¦ PSpW ¦ # client⇥server⇥secret⇥IP addresses⏎⟦{u}⇥l2tpd⇥{v}⇥*⟧⏎
sasl passwd ¦ postfix/sasl_passwd ¦ PSpr ¦ ⟦[{h}]:587    {u}@norvik.io:{v}⟧⏎
ipsec secrets ¦ ipsec.secrets ¦ PpVK ¦ # ipsec.secrets - strongSwan⏎⟦203.0.113.7 198.51.100.20 : PSK "{v}"⟧⏎
ipsec eap ¦ strongswan/ipsec.secrets ¦ PpS ¦ : RSA vpn-server-key.pem⏎⟦{u} : EAP "{v}"⟧⏎
freeradius users ¦ raddb/users ¦ PpS ¦ ⟦{u}  Cleartext-Password := "{v}"⟧⏎      Service-Type = NAS-Prompt-User,⏎      Cisco-AVPair = "shell:priv-lvl=15"⏎
ldif ¦ seed-users.ldif ¦ PpSL ¦ dn: uid={u},ou=people,dc=brightwater,dc=org⏎objectClass: inetOrgPerson⏎sn: Lind⏎⟦userPassword: {v}⟧⏎
"""
CLASSES = {
    "direct assignments": DIRECT,
    "chosen passwords": CHOSEN,
    "decoded text": DECODED,
    "columns and SQL": COLUMNS,
    "name and value apart": APART,
    "wrapped values": WRAPPED,
    "options of commands": OPTIONS,
    "languages other than English": LANGUAGES,
    "documents": DOCUMENTS,
    "keys as bytes": BYTES,
}
