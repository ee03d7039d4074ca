# ruff: noqa: E501
"""More styles of the sixth hold-out: name and value apart, wrapped, options, other languages, documents, bytes.

NOT TO BE READ by anyone who writes or changes a rule of hush (`outside_blind.py`). The form of a row and the sources:
`outside_sixth_styles.py`.
"""

APART = r"""
kubernetes env ¦ k8s/deployment.yaml ¦ PSpTU ¦ spec:⏎  containers:⏎    - name: api⏎      image: norvik/api:2.3⏎      env:⏎⟦        - name: {N}⏎          value: "{v}"⟧⏎        - name: LOG_LEVEL⏎          value: info⏎
ecs task ¦ taskdef.json ¦ PSTU ¦ {"family": "orders", "containerDefinitions": [{"name": "orders", "environment": [⏎  {"name": "PORT", "value": "8080"},⏎⟦  {"name": "{N}", "value": "{v}"}⟧⏎]}]}⏎
plist ¦ Info.plist ¦ TUKp ¦ <plist version="1.0">⏎<dict>⏎⇥<key>CFBundleName</key>⏎⇥<string>Depot</string>⏎⟦⇥<key>{P}</key>⏎⇥<string>{v}</string>⟧⏎</dict>⏎</plist>⏎
postman environment ¦ prod.postman_environment.json ¦ PTUp ¦ {⏎⇥"name": "prod",⏎⇥"values": [⏎⇥⇥{⏎⟦⇥⇥⇥"key": "{c}",⏎⇥⇥⇥"value": "{v}",⟧⏎⇥⇥⇥"enabled": true⏎⇥⇥}⏎⇥],⏎⇥"_postman_variable_scope": "environment"⏎}⏎
postman auth ¦ crm.postman_collection.json ¦ PpT ¦ {"info": {"name": "crm"}, "auth": {⏎  "type": "basic",⏎  "basic": [⏎⟦    {"key": "password", "value": "{v}", "type": "string"},⟧⏎    {"key": "username", "value": "{u}", "type": "string"}⏎  ]⏎}}⏎
har header ¦ capture.har ¦ TU ¦ {"log": {"entries": [{"request": {"method": "GET", "url": "https://{h}/v1/me", "headers": [⏎  {"name": "Accept", "value": "*/*"},⏎⟦  {"name": "Authorization", "value": "Bearer {v}"}⟧⏎]}}]}}⏎
har cookie ¦ login.har ¦ UK ¦ {"log": {"entries": [{"request": {"url": "https://{h}/", "cookies": [⏎⟦  {"name": "sessionid", "value": "{v}", "httpOnly": true, "secure": true}⟧⏎]}}]}}⏎
appSettings ¦ Web.config ¦ PSTUp ¦ <configuration>⏎  <appSettings>⏎    <add key="Environment" value="Production" />⏎⟦    <add key="{P}" value="{v}" />⟧⏎  </appSettings>⏎</configuration>⏎
connectionStrings ¦ App.config ¦ c ¦ <configuration>⏎  <connectionStrings>⏎⟦    <add name="Main" connectionString="{C}" />⟧⏎  </connectionStrings>⏎</configuration>⏎
terraform default ¦ variables.tf ¦ PSTU ¦ variable "region" {⏎  default = "eu-north-1"⏎}⏎⏎⟦variable "{n}" {⏎  type    = string⏎  default = "{v}"⏎}⟧⏎
cloudformation default ¦ stack.yaml ¦ PSpT ¦ AWSTemplateFormatVersion: '2010-09-09'⏎Parameters:⏎  Stage:⏎    Type: String⏎⟦  {P}:⏎    Type: String⏎    NoEcho: true⏎    Default: {v}⟧⏎Resources: {}⏎
hadoop site ¦ conf/core-site.xml ¦ Y ¦ <configuration>⏎  <property>⏎⟦    <name>fs.s3a.secret.key</name>⏎    <value>{v}</value>⟧⏎  </property>⏎</configuration>⏎
hive site ¦ conf/hive-site.xml ¦ PpW ¦ <configuration>⏎<property>⏎⟦  <name>javax.jdo.option.ConnectionPassword</name>⏎  <value>{v}</value>⟧⏎  <description>metastore</description>⏎</property>⏎</configuration>⏎
jenkins credentials ¦ credentials.xml ¦ PpT ¦ <com.cloudbees.plugins.credentials.impl.UsernamePasswordCredentialsImpl>⏎  <id>nexus</id>⏎  <username>{u}</username>⏎⟦  <password>{v}</password>⟧⏎</com.cloudbees.plugins.credentials.impl.UsernamePasswordCredentialsImpl>⏎
maven server ¦ .m2/settings.xml m2/settings.xml ¦ PSpT ¦ <settings>⏎  <servers>⏎    <server>⏎      <id>releases</id>⏎      <username>{u}</username>⏎⟦      <password>{v}</password>⟧⏎    </server>⏎  </servers>⏎</settings>⏎
gradle credentials ¦ lib/build.gradle ¦ PST ¦ repositories {⏎    maven {⏎        url "https://{h}/maven"⏎        credentials {⏎            username "{u}"⏎⟦            password "{v}"⟧⏎        }⏎    }⏎}⏎
nuget credentials ¦ NuGet.Config ¦ TrS ¦ <configuration>⏎  <packageSourceCredentials>⏎    <Halden>⏎      <add key="Username" value="{u}" />⏎⟦      <add key="ClearTextPassword" value="{v}" />⟧⏎    </Halden>⏎  </packageSourceCredentials>⏎</configuration>⏎
registry autologon ¦ autologon.reg ¦ pPL ¦ Windows Registry Editor Version 5.00⏎⏎[HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Winlogon]⏎"AutoAdminLogon"="1"⏎"DefaultUserName"="{u}"⏎⟦"DefaultPassword"="{v}"⟧⏎
java system property ¦ .java ¦ PSp ¦         System.setProperty("javax.net.ssl.trustStorePassword", "{v}");
java properties put ¦ .java ¦ PSpU ¦         props.put("{n}", "{v}");
python environ ¦ .py ¦ PTUK ¦ os.environ.setdefault("{N}", "{v}")
ruby env default ¦ .rb ¦ TUKS ¦ ENV['{N}'] ||= '{v}'
go setenv ¦ .go ¦ TUSP ¦ os.Setenv("{N}", "{v}")
c# configuration ¦ .cs ¦ TUKS ¦         builder.Configuration["Jwt:{P}"] = "{v}";
jest environment ¦ jest.setup.js ¦ TUKS ¦ process.env.TZ = 'UTC';⏎⟦process.env.{N} = '{v}';⟧⏎jest.setTimeout(20000);⏎
arm parameters ¦ azuredeploy.parameters.json ¦ PSp ¦ {"contentVersion": "1.0.0.0", "parameters": {⏎  "adminUsername": {"value": "{u}"},⏎⟦  "adminPassword": {⏎    "value": "{v}"⏎  }⟧⏎}}⏎
spring bean ¦ applicationContext.xml ¦ PpS ¦ <bean id="ds" class="org.apache.commons.dbcp2.BasicDataSource">⏎  <property name="username" value="{u}"/>⏎⟦  <property name="password" value="{v}"/>⟧⏎</bean>⏎
jndi resource ¦ META-INF/context.xml ¦ PpW ¦ <Context>⏎  <Resource name="jdbc/hr" auth="Container" type="javax.sql.DataSource"⏎⟦    username="{u}" password="{v}"⟧⏎    driverClassName="org.mariadb.jdbc.Driver" url="jdbc:mariadb://{h}/hr"/>⏎</Context>⏎
persistence unit ¦ META-INF/persistence.xml ¦ PpS ¦ <persistence-unit name="main">⏎  <properties>⏎⟦    <property name="javax.persistence.jdbc.password" value="{v}"/>⟧⏎  </properties>⏎</persistence-unit>⏎
beanstalk option ¦ ebextensions/env.config ¦ PTU ¦ option_settings:⏎  - namespace: aws:elasticbeanstalk:application:environment⏎⟦    option_name: {N}⏎    value: {v}⟧⏎
keycloak ldap ¦ ldap-provider.json ¦ PpS ¦ {"providerId": "ldap", "config": {⏎  "bindDn": ["cn=svc-keycloak,ou=apps,dc=brightwater,dc=org"],⏎⟦  "bindCredential": ["{v}"],⟧⏎  "vendor": ["ad"]⏎}}⏎
logstash output ¦ pipeline/out.conf ¦ PSpr ¦ output {⏎  elasticsearch {⏎    hosts => ["{h}:9200"]⏎    user => "{u}"⏎⟦    password => "{v}"⟧⏎  }⏎}⏎
compose env list ¦ compose.prod.yaml ¦ PSTUC ¦ services:⏎  worker:⏎    image: norvik/worker:9⏎    environment:⏎⟦      - {N}={v}⟧⏎      - TZ=Europe/Oslo⏎
grafana datasource ¦ provisioning/datasources/pg.yaml ¦ PSp ¦ datasources:⏎  - name: ledger⏎    type: postgres⏎    user: {u}⏎    secureJsonData:⏎⟦      password: "{v}"⟧⏎
kafka jaas ¦ kafka_server_jaas.conf ¦ PSp ¦ KafkaServer {⏎    org.apache.kafka.common.security.plain.PlainLoginModule required⏎    username="{u}"⏎⟦    password="{v}"⟧⏎    user_reader="{w}";⏎};⏎
kafka jaas in a property ¦ .properties ¦ PSp ¦ sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="{u}" password="{v}";
ansible uri ¦ playbooks/notify.yml ¦ PST ¦ - hosts: localhost⏎  tasks:⏎    - name: restart job⏎      uri:⏎        url: "https://{h}/job/restart"⏎        user: {u}⏎⟦        password: "{v}"⟧⏎        force_basic_auth: true⏎
hidden input ¦ .html ¦ TUK ¦ <input type="hidden" name="{n}" value="{v}">
call with positions, python ¦ .py ¦ PpS ¦ server.login("{u}@norvik.io", "{v}")
call with positions, c# ¦ .cs ¦ PpS ¦             client.Credentials = new NetworkCredential("{u}", "{v}", "HALDEN");
call with positions, java ¦ .java ¦ PpS ¦         Connection c = DriverManager.getConnection("jdbc:mysql://{h}/hr", "{u}", "{v}");
call with positions, php ¦ php/db.php ¦ PpL ¦ <?php⏎⟦$link = mysqli_connect('{h}', '{u}', '{v}', 'shop');⟧⏎mysqli_set_charset($link, 'utf8mb4');⏎
auth tuple ¦ .py ¦ PpTU ¦ r = session.get("https://{h}/rest/items", auth=("{u}", "{v}"), timeout=10)
connection in code ¦ .cs ¦ c ¦         options.UseSqlServer("{C}");
connection in yaml ¦ .yaml ¦ C ¦ {n}: "{C}"
connection in go ¦ .go ¦ d ¦ db, err := sql.Open("driver", "{C}")
connection in env ¦ .env.production env/.env.production ¦ C ¦ APP_ENV=production⏎⟦{N}={C}⟧⏎LOG_CHANNEL=stderr⏎
"""
WRAPPED = r'''
python in parentheses ¦ .py ¦ RDj ¦ {N} = (⏎{l:    "|"}⏎)
java plus ¦ .java ¦ RDj ¦     private static final String {N} = ""⏎{l:        + "|"}⏎        ;
c strings ¦ firmware/secrets.h ¦ RD ¦ #pragma once⏎⟦static const char {n}[] =⏎{l:    "|"}⏎    ;⟧⏎
c certificate lines ¦ firmware/tls_key.h ¦ M ¦ #pragma once⏎⟦static const char {n}[] PROGMEM =⏎{l:  "|\n"}⏎  ;⟧⏎
javascript join ¦ .js .ts ¦ RDMj ¦ const {c} = [⏎{l:  "|",}⏎].join("");
yaml folded ¦ helm/values-secret.yaml ¦ RDj ¦ api:⏎  replicas: 2⏎⟦  {c}: >-⏎{l:    |}⟧⏎  port: 8080⏎
yaml literal ¦ ansible/vault_plain.yml ¦ MX ¦ ---⏎app_port: 8443⏎⟦{n}: |⏎{l:  |}⟧⏎app_name: depot⏎
yaml quoted over lines ¦ chart/values.yaml ¦ RD ¦ auth:⏎⟦  {c}: "\⏎{l:    |\}⏎    "⟧⏎  enabled: true⏎
kubernetes stringData ¦ tls-secret.yaml ¦ M ¦ apiVersion: v1⏎kind: Secret⏎metadata:⏎  name: signer⏎stringData:⏎⟦  tls.key: |⏎{l:    |}⟧⏎
shell append ¦ .sh ¦ RD ¦ SIGNING_SECRET=""⏎{l:SIGNING_SECRET+="|"}
shell continued ¦ .sh ¦ RDj ¦ export {N}="\⏎{l:|\}⏎"
shell heredoc ¦ .sh ¦ M ¦ cat > /etc/ssl/private/app.key <<'KEY'⏎{v}⏎KEY
php dots ¦ php/config.php ¦ RD ¦ <?php⏎⟦${n} = ''⏎{l:    . '|'}⏎    ;⟧⏎
php heredoc ¦ php/keys.php ¦ M ¦ <?php⏎⟦${n} = <<<PEM⏎{v}⏎PEM;⟧⏎
properties continued ¦ .properties ¦ RD ¦ {n} = \⏎{l:    |\}⏎
toml multi-line ¦ config/secrets.toml ¦ RDj ¦ [auth]⏎issuer = "depot"⏎⟦{n} = """\⏎{l:  |\}⏎  """⟧⏎
go plus ¦ .go ¦ RDj ¦ const {c} = "" +⏎{l:⇥"|" +}⏎⇥""
go raw pem ¦ .go ¦ M ¦ var {c} = []byte(`{v}⏎`)
terraform heredoc ¦ main.tf ¦ M ¦ resource "aws_iam_server_certificate" "site" {⏎  name        = "site"⏎⟦  private_key = <<EOT⏎{v}⏎EOT⟧⏎}⏎
json with breaks ¦ gcp/service-account.json ¦ M ¦ {⏎  "type": "service_account",⏎  "project_id": "norvik-prod",⏎⟦  "private_key": "{m}\n",⟧⏎  "client_email": "ci@norvik-prod.iam.gserviceaccount.com"⏎}⏎
env with breaks ¦ .env ¦ M ¦ APP_URL=https://{h}⏎⟦{N}="{m}\n"⟧⏎APP_DEBUG=0⏎
ovpn inline key ¦ client.ovpn ¦ M ¦ client⏎remote {h} 1194⏎⟦<key>⏎{v}⏎</key>⟧⏎verb 3⏎
ovpn static key ¦ site-to-site.ovpn ¦ X ¦ dev tun⏎remote {h} 1194⏎key-direction 1⏎<tls-auth>⏎#⏎# 2048 bit OpenVPN static key⏎#⏎-----BEGIN OpenVPN Static key V1-----⏎⟦{v}⟧⏎-----END OpenVPN Static key V1-----⏎</tls-auth>⏎
quoted-printable mail ¦ handover.eml ¦ H ¦ From: {u}@norvik.io⏎Subject: access for the new gateway⏎Content-Transfer-Encoding: quoted-printable⏎⏎Hi Jonas,⏎⟦the {n} for the gateway is:⏎{l:|=}⟧⏎⏎Regards⏎
xml element over lines ¦ saml/idp.xml ¦ R ¦ <Provider entityID="https://{h}">⏎⟦  <{P}>⏎{l:    |}⏎  </{P}>⟧⏎</Provider>⏎
ldif continued ¦ ldap/entry.ldif ¦ R ¦ dn: cn=gateway,ou=apps,dc=brightwater,dc=org⏎objectClass: device⏎⟦{c}:⏎{l: |}⟧⏎
ruby squiggly heredoc ¦ .rb ¦ M ¦ {N} = <<~PEM⏎  {v}⏎PEM
ruby backslash ¦ lib/keys.rb ¦ RD ¦ module Keys⏎⟦  {N} = '' \⏎{l:    '|' \}⏎    ''⟧⏎end⏎
rust concat ¦ src/keys.rs ¦ RD ¦ use std::env;⏎⟦pub const {N}: &str = concat!(⏎{l:    "|",}⏎);⟧⏎
visual basic continued ¦ Keys.vb ¦ RDj ¦ Module Keys⏎⟦    Public Const {P} As String = "" _⏎{l:        & "|" _}⏎        & ""⟧⏎End Module⏎
swift multi-line ¦ Keys.swift ¦ R ¦ enum Keys {⏎⟦    static let {c} = """⏎{l:    |\}⏎    """⟧⏎}⏎
python triple quotes ¦ .py ¦ M ¦ {N} = """\⏎{v}⏎"""
github workflow run ¦ .github/workflows/deploy.yml workflows/deploy.yml ¦ M ¦ jobs:⏎  ship:⏎    runs-on: ubuntu-latest⏎    steps:⏎      - run: |⏎          mkdir -p ~/.ssh⏎          ⟦cat > ~/.ssh/id_deploy <<'EOF'⏎          {v}⟧⏎          EOF⏎          chmod 600 ~/.ssh/id_deploy⏎
key file without an ending ¦ keys/id_deploy ¦ M ¦ {v}
'''
OPTIONS = r"""
curl user ¦ .sh ¦ PpSr ¦ curl -fsS -u '{u}:{v}' https://{h}/api/backup -o backup.tgz
curl header ¦ .sh .md ¦ TU ¦ curl -H "X-Api-Key: {v}" "https://{h}/v1/export?format=csv"
mysql short ¦ .sh ¦ Spr ¦ mysql -h {h} -u{u} -p{v} orders < schema.sql
mysqldump in cron ¦ etc/cron.d/backup ¦ Sp ¦ SHELL=/bin/bash⏎⟦15 2 * * * root mysqldump -u {u} --password={v} --all-databases | gzip > /srv/backup/all.sql.gz⟧⏎
psql environment ¦ .sh ¦ PSpW ¦ PGPASSWORD='{v}' pg_restore -h {h} -U {u} -d orders latest.dump
sshpass ¦ .sh ¦ PSp ¦ sshpass -p '{v}' ssh -o StrictHostKeyChecking=no {u}@{h} 'systemctl restart api'
docker login ¦ .sh ¦ PSTr ¦ docker login {h} -u {u} -p {v}
password to stdin ¦ .sh ¦ STU ¦ echo "{v}" | docker login --username {u} --password-stdin {h}
docker run ¦ docs/run.sh ¦ PSTU ¦ #!/bin/sh⏎docker run -d --name api \⏎⟦  -e {N}='{v}' \⟧⏎  -p 8080:8080 norvik/api:2.3⏎
kubectl literal ¦ .sh ¦ PSTU ¦ kubectl -n prod create secret generic app --from-literal={k}='{v}'
helm set ¦ .sh ¦ SrW ¦ helm upgrade --install db bitnami/postgresql --set auth.username={u},auth.password={v} --wait
az service principal ¦ scripts/az.sh ¦ a ¦ #!/bin/bash⏎⟦az login --service-principal -u 5f0c1b7e-6a44-4f1e-9c53-2b8f6d1e07aa -p {v} --tenant halden.onmicrosoft.com⟧⏎az account show⏎
aws configure ¦ .bash_history ¦ Y ¦ aws --version⏎⟦aws configure set aws_secret_access_key {v}⟧⏎aws s3 ls⏎
redis-cli ¦ .bash_history ¦ SWr ¦ cd /srv⏎⟦redis-cli -h {h} -a {v} info memory⟧⏎exit⏎
mongo shell ¦ .bash_history ¦ PSp ¦ docker ps⏎⟦mongosh "{h}/admin" -u {u} -p '{v}' --eval 'db.stats()'⟧⏎history⏎
ldapsearch ¦ .sh ¦ PSpW ¦ ldapsearch -x -H ldaps://{h} -D "cn={u},dc=brightwater,dc=org" -w '{v}' -b "dc=brightwater,dc=org"
smbclient ¦ .sh ¦ Sp ¦ smbclient //{h}/scans -U '{u}%{v}' -c 'get latest.pdf'
net use ¦ map-drives.bat ¦ pSL ¦ @echo off⏎⟦net use S: \\{h}\share {v} /user:HALDEN\{u} /persistent:no⟧⏎xcopy S:\drop C:\in /Y⏎
net user add ¦ setup-kiosk.cmd ¦ pL ¦ @echo off⏎⟦net user kiosk {v} /add /passwordchg:no⟧⏎net localgroup Administrators kiosk /add⏎
cmdkey ¦ creds.bat ¦ pS ¦ @echo off⏎⟦cmdkey /add:{h} /user:{u} /pass:{v}⟧⏎mstsc /v:{h}⏎
scheduled task ¦ install-task.ps1 ¦ pS ¦ $job = 'C:\jobs\sync.ps1'⏎⟦schtasks /Create /SC DAILY /TN sync /TR $job /RU HALDEN\{u} /RP '{v}'⟧⏎
secure string ¦ provision.ps1 ¦ PpS ¦ Import-Module ActiveDirectory⏎⟦$pw = ConvertTo-SecureString '{v}' -AsPlainText -Force⟧⏎New-LocalUser -Name '{u}' -Password $pw⏎
sqlcmd ¦ restore.cmd ¦ PSp ¦ @echo off⏎⟦sqlcmd -S {h} -U {u} -P "{v}" -i restore.sql⟧⏎
sqlplus ¦ .sh ¦ Sp ¦ sqlplus -s {u}/{v}@//{h}:1521/ORCLPDB @nightly.sql
openssl passout ¦ .sh ¦ PSpW ¦ openssl pkcs12 -export -in site.crt -inkey site.key -out site.p12 -passout 'pass:{v}'
keytool ¦ .sh ¦ PSp ¦ keytool -importkeystore -srckeystore old.jks -destkeystore new.p12 -srcstorepass '{v}' -noprompt
gpg passphrase ¦ .sh ¦ VW ¦ gpg --batch --pinentry-mode loopback --passphrase "{v}" --decrypt db.dump.gpg > db.dump
borg passphrase ¦ .sh ¦ VWP ¦ export BORG_PASSPHRASE='{v}'
vault put ¦ .md ¦ STU ¦ vault kv put secret/orders {n}={v}
htpasswd ¦ .sh ¦ PSpW ¦ htpasswd -bc /etc/nginx/.htpasswd {u} '{v}'
snmpget ¦ .bash_history ¦ SW ¦ snmpstatus -v1 -c public {h}⏎⟦snmpget -v3 -l authPriv -u {u} -a SHA -A '{v}' -x AES {h} sysUpTime.0⟧⏎exit⏎
ipmitool ¦ .sh ¦ Sp ¦ ipmitool -I lanplus -H {h} -U {u} -P {v} chassis power status
rabbitmqctl ¦ .sh ¦ SpW ¦ rabbitmqctl add_user {u} '{v}'
xfreerdp ¦ .bash_history ¦ Sp ¦ ping -c1 {h}⏎⟦xfreerdp /v:{h} /u:{u} /p:{v} /cert:ignore⟧⏎exit⏎
ansible extra vars ¦ Makefile ¦ SUT ¦ .PHONY: deploy⏎deploy:⏎⟦⇥ansible-playbook -i hosts site.yml -e {n}={v}⟧⏎
twine ¦ tools/publish.sh ¦ y ¦ #!/bin/sh⏎python -m build⏎⟦twine upload -u __token__ -p {v} dist/*⟧⏎
jvm property ¦ bin/start.sh ¦ PSp ¦ #!/bin/sh⏎⟦JAVA_OPTS="$JAVA_OPTS -Djavax.net.ssl.keyStore=/etc/app.p12 -Djavax.net.ssl.keyStorePassword={v}"⟧⏎exec java $JAVA_OPTS -jar app.jar⏎
git clone with token ¦ .sh .md ¦ g ¦ git clone https://oauth2:{v}@{h}/platform/charts.git
heroku config ¦ .md ¦ TUK ¦ heroku config:set {N}={v} --app depot-prod
expect ¦ backup-switch.exp ¦ SpW ¦ spawn ssh {u}@{h}⏎expect "assword:"⏎⟦send "{v}\r"⟧⏎expect "#"⏎
chpasswd ¦ .sh ¦ PSpL ¦ echo '{u}:{v}' | chpasswd
lftp ¦ .sh ¦ Sp ¦ lftp -u {u},{v} -e "mirror -R build/ /htdocs; quit" {h}
kinit ¦ .sh ¦ Sp ¦ echo '{v}' | kinit {u}@BRIGHTWATER.ORG
mikrotik ppp ¦ export.rsc ¦ SpW ¦ /ip pool add name=vpn ranges=10.77.0.10-10.77.0.99⏎⟦/ppp secret add name={u} password={v} service=l2tp profile=default-encryption⟧⏎
systemd exec ¦ exporter.service ¦ Sp ¦ [Service]⏎⟦ExecStart=/usr/bin/mongodb_exporter --mongodb.uri=mongodb://{u}:{v}@{h}:27017/admin⟧⏎Restart=always⏎
package script ¦ package.json ¦ e ¦ {⏎  "name": "depot",⏎  "scripts": {⏎    "build": "vite build",⏎⟦    "deploy": "sentry-cli --auth-token {v} releases new depot && rsync -a dist/ {u}@{h}:/srv/depot"⟧⏎  }⏎}⏎
"""
LANGUAGES = r"""
german mail ¦ uebergabe.txt ¦ PpLVW ¦ Hallo Frau Brandt,⏎⏎der Server ist unter https://{h} erreichbar.⏎Benutzer: {u}⏎⟦Kennwort: {v}⟧⏎⏎Viele Grüße⏎
german config ¦ einstellungen.ini ¦ PpL ¦ [Datenbank]⏎Rechner={h}⏎Benutzer={u}⏎⟦Passwort={v}⟧⏎
german sentence ¦ betriebshandbuch.md ¦ PpLW ¦ ## Sicherung⏎⏎Die Sicherung läuft um 2 Uhr auf {h}.⏎⟦Das Passwort für {u} lautet {v}, bitte nicht weitergeben.⟧⏎
french readme ¦ LISEZMOI.md ¦ PpLW ¦ # Accès⏎⏎- **Identifiant** : `{u}`⏎⟦- **Mot de passe** : `{v}`⟧⏎- **Adresse** : https://{h}⏎
french php ¦ connexion.php ¦ PpL ¦ <?php⏎$serveur = '{h}';⏎$utilisateur = '{u}';⏎⟦$mot_de_passe = '{v}';⟧⏎$base = 'gestion';⏎
french python ¦ .py ¦ PpLT ¦ mdp_base = "{v}"  # compte {u}
spanish python ¦ .py ¦ PpL ¦ contraseña = "{v}"
spanish env ¦ config/produccion.env ¦ PpL ¦ SERVIDOR={h}⏎USUARIO={u}⏎⟦CLAVE_ACCESO={v}⟧⏎PUERTO=5432⏎
spanish note ¦ LEEME.txt ¦ PpLV ¦ Para entrar en la intranet ({h}):⏎usuario {u}⏎⟦la contraseña es {v}⟧⏎⏎No borrar este archivo.⏎
portuguese java ¦ .java ¦ PpL ¦     private String senhaBanco = "{v}";
portuguese yaml ¦ configuracao.yml ¦ PpL ¦ banco:⏎  servidor: {h}⏎  usuario: {u}⏎⟦  senha: "{v}"⟧⏎
italian properties ¦ impostazioni.properties ¦ PpL ¦ db.utente={u}⏎⟦db.parola_chiave={v}⟧⏎db.indirizzo={h}⏎
italian wiki ¦ procedure.md ¦ PpLW ¦ ### Router sede di Torino⏎⏎Collegarsi a http://{h}, nome utente `{u}`.⏎⟦La password attuale è: {v}⟧⏎
polish php ¦ polaczenie.php ¦ PpL ¦ <?php⏎$uzytkownik = '{u}';⏎⟦$haslo = '{v}';⟧⏎$baza = 'sklep';⏎
polish text ¦ dostepy.txt ¦ PpLW ¦ Panel: https://{h}⏎Login: {u}⏎⟦Hasło: {v}⟧⏎
russian readme ¦ docs/dostup.md ¦ PpLWT ¦ ## Стенд⏎⏎- Адрес: {h}⏎- Логин: `{u}`⏎⟦- Пароль: `{v}`⟧⏎
russian comment ¦ .py ¦ PpL ¦ # пароль от почты: {v}
russian 1c config ¦ nastroyki.ini ¦ PpL ¦ [Подключение]⏎Сервер={h}⏎Пользователь={u}⏎⟦Пароль={v}⟧⏎
chinese readme ¦ 部署说明.md ¦ PpLW ¦ # 部署说明⏎⏎测试环境：https://{h}⏎⟦账号：{u}　密码：{v}⟧⏎⏎启动后请等待一分钟。⏎
chinese java comment ¦ .java ¦ PpL ¦     // 数据库密码: {v}
chinese yaml ¦ application-test.yml ¦ PpLS ¦ server:⏎  port: 8081⏎mail:⏎  host: {h}⏎⟦  password: {v} # 邮箱授权码⟧⏎
japanese readme ¦ docs/手順書.md ¦ PpLW ¦ # 手順書⏎⏎管理画面：https://{h}/admin⏎- ユーザー名：{u}⏎⟦- パスワード：{v}⟧⏎
japanese csv ¦ アカウント一覧.csv ¦ PpL ¦ システム,ユーザーID,パスワード,備考⏎⟦勤怠,{u},{v},本社⟧⏎
korean text ¦ 접속정보.txt ¦ PpLW ¦ 서버: {h}⏎아이디: {u}⏎⟦비밀번호: {v}⟧⏎
korean comment ¦ .ts ¦ PpLT ¦ // 관리자 비밀번호: {v}
turkish ini ¦ ayarlar.ini ¦ PpL ¦ [veritabani]⏎sunucu={h}⏎kullanici={u}⏎⟦sifre={v}⟧⏎
turkish text ¦ notlar.txt ¦ PpLW ¦ Kullanıcı adı: {u}⏎⟦Şifre: {v}⟧⏎Adres: https://{h}⏎
dutch yaml ¦ instellingen.yaml ¦ PpL ¦ databank:⏎  gebruiker: {u}⏎⟦  wachtwoord: {v}⟧⏎  adres: {h}⏎
dutch sentence ¦ handleiding.md ¦ PpLV ¦ Log in op https://{h} als `{u}`.⏎⟦Het wachtwoord is `{v}`.⟧⏎
czech xml ¦ nastaveni.xml ¦ PpL ¦ <nastaveni>⏎  <uzivatel>{u}</uzivatel>⏎⟦  <heslo>{v}</heslo>⟧⏎</nastaveni>⏎
swedish json ¦ installningar.json ¦ PpL ¦ {⏎  "användare": "{u}",⏎⟦  "lösenord": "{v}",⟧⏎  "adress": "{h}"⏎}⏎
finnish text ¦ tunnukset.txt ¦ PpLW ¦ Käyttäjätunnus: {u}⏎⟦Salasana: {v}⟧⏎
hungarian ini ¦ beallitasok.ini ¦ PpL ¦ [adatbazis]⏎felhasznalo={u}⏎⟦jelszo={v}⟧⏎
romanian text ¦ acces.txt ¦ PpLW ¦ Utilizator: {u}⏎⟦Parola: {v}⟧⏎
greek text ¦ odigies.txt ¦ PpLW ¦ Όνομα χρήστη: {u}⏎⟦Κωδικός πρόσβασης: {v}⟧⏎
vietnamese js ¦ cauhinh.js ¦ PpL ¦ module.exports = {⏎  taiKhoan: "{u}",⏎⟦  matKhau: "{v}",⟧⏎  mayChu: "{h}",⏎};⏎
indonesian readme ¦ BACA_SAYA.md ¦ PpLW ¦ ## Masuk⏎⏎Nama pengguna: {u}⏎⟦Kata sandi: {v}⟧⏎
arabic text ¦ taalimat.txt ¦ PpLW ¦ اسم المستخدم: {u}⏎⟦كلمة المرور: {v}⟧⏎
hebrew text ¦ gisha.txt ¦ PpLW ¦ שם משתמש: {u}⏎⟦סיסמה: {v}⟧⏎
danish text ¦ adgang.txt ¦ PpLW ¦ Brugernavn: {u}⏎⟦Adgangskode: {v}⟧⏎
"""
DOCUMENTS = r'''
readme list ¦ .md ¦ PpWT ¦ - Login: `{u}` / `{v}`
readme sentence ¦ .md ¦ PpW ¦ Log in as **{u}** with the password **{v}** and open the reports page.
readme, parenthesis ¦ docs/ONBOARDING.md ¦ PpWV ¦ # Onboarding⏎⏎Ask Lena for a badge.⏎⟦The jump host is {h} (user {u}, password {v}).⟧⏎⏎Then read the wiki.⏎
markdown table ¦ docs/environments.md ¦ PpWT ¦ | Environment | URL | User | Password |⏎|---|---|---|---|⏎⟦| staging | https://{h} | {u} | {v} |⟧⏎
rst literal ¦ docs/operations.rst ¦ PSTU ¦ Operations⏎==========⏎⏎Restart the exporter with its token::⏎⏎⟦    {N}={v} ./exporter --listen :9187⟧⏎
asciidoc ¦ docs/setup.adoc ¦ PpWT ¦ = Setup⏎⏎Admin console:: https://{h}⏎User:: {u}⏎⟦Password:: `{v}`⟧⏎
org mode ¦ notes.org ¦ PpVT ¦ * Servers⏎** {h}⏎   - user :: {u}⏎⟦   - pw :: {v}⟧⏎
jira comment ¦ export/OPS-1182.txt ¦ PpWT ¦ [OPS-1182] Cannot reach the broker⏎Comment by {u}, 2024-03-11⏎⟦I reset it, new pw is {v} - please change after login⟧⏎Status: Resolved⏎
slack export ¦ slack/ops/2024-02-19.json ¦ PpTVU ¦ [⏎  {⏎    "type": "message",⏎    "user": "U02K1P9QX4T",⏎⟦    "text": "hey, creds for {h}: {u} / {v}",⟧⏎    "ts": "1708340411.239119"⏎  }⏎]⏎
chat, plain ¦ irc-2024-05.log ¦ PpVT ¦ [14:02] <nora> what's the wifi in the lab?⏎⟦[14:03] <{u}> password is {v}⟧⏎[14:03] <nora> thx⏎
mail ¦ inbox/new-account.eml ¦ PpWS ¦ From: it@norvik.io⏎To: {u}@norvik.io⏎Subject: Your new account⏎⏎Welcome aboard!⏎Your username is {u}.⏎⟦Your temporary password is: {v}⟧⏎Please sign in at https://{h}.⏎
mail, html ¦ templates/welcome_sent.html ¦ PpS ¦ <p>Hello Marit,</p>⏎<p>Your account is ready.</p>⏎⟦<p>Username: <b>{u}</b><br>Password: <b>{v}</b></p>⟧⏎<p>Regards, IT</p>⏎
runbook step ¦ runbooks/failover.md ¦ PSpT ¦ 1. `ssh {u}@{h}`⏎⟦2. when asked for the passphrase type `{v}`⟧⏎3. `pcs resource move vip`⏎
changelog ¦ NEWS.txt ¦ PTU ¦ 2.4.1⏎⟦ * rotated {n}, now {v}⟧⏎ * fixed the paging of reports⏎
todo comment ¦ .py .rb ¦ PTUp ¦ # TODO move to vault: {u} / {v}
comment with old value ¦ .js .ts ¦ TU ¦ // old {c}, still valid until march: {v}
commented config ¦ .yml .yaml ¦ PSTU ¦ # {n}: {v}
doc string ¦ .py ¦ TU ¦ """Client of the billing service (sandbox key {v})."""
javadoc ¦ .java ¦ PpT ¦     /** Uses the service account {u}, password {v}, until SSO is ready. */
xml comment ¦ pom-profile.xml ¦ PpT ¦ <profile>⏎  <id>release</id>⏎⟦  <!-- nexus: {u} / {v} -->⟧⏎</profile>⏎
notebook source ¦ analysis.ipynb ¦ PTUC ¦ {"cells": [{"cell_type": "code", "source": [⏎  "import pandas as pd\n",⏎⟦  "{n} = '{v}'\n",⟧⏎  "df = load()"⏎]}], "nbformat": 4, "nbformat_minor": 5}⏎
notebook output ¦ explore.ipynb ¦ TU ¦ {"cells": [{"cell_type": "code", "source": ["resp.json()"], "outputs": [{"data": {"text/plain": [⏎⟦  "{'access_token': '{v}', 'expires_in': 3600}"⟧⏎]}}]}], "nbformat": 4}⏎
log line ¦ logs/app.log ¦ PSp ¦ 2024-06-02 08:14:09 INFO  starting worker 3⏎⟦2024-06-02 08:14:10 DEBUG connecting as user={u} password={v} to {h}⟧⏎2024-06-02 08:14:11 INFO  ready⏎
log of headers ¦ logs/proxy.log ¦ TU ¦ > GET /v1/items HTTP/1.1⏎> Host: {h}⏎⟦> Authorization: Bearer {v}⟧⏎> Accept: */*⏎
stack trace ¦ error-report.txt ¦ s ¦ sqlalchemy.exc.OperationalError: could not connect⏎⟦  engine = create_engine("{C}")⟧⏎  File "jobs/sync.py", line 41, in main⏎
url with a token ¦ .md ¦ TU ¦ The feed is at https://{h}/feed.ics?token={v} (read only).
http file ¦ requests.http ¦ TUK ¦ ### list orders⏎GET https://{h}/orders⏎⟦X-Auth-Token: {v}⟧⏎Accept: application/json⏎
api example response ¦ docs/api.md ¦ TU ¦ ```json⏎{⏎⟦  "{n}": "{v}",⟧⏎  "token_type": "bearer"⏎}⏎```⏎
diff ¦ fix-config.patch ¦ PSTU ¦ --- a/config.yml⏎+++ b/config.yml⏎@@ -3,4 +3,4 @@⏎ server: {h}⏎⟦-{n}: {v}⟧⏎+{n}: ${{N}}⏎
latex ¦ handover.tex ¦ pW ¦ \section{Access}⏎\begin{description}⏎\item[User] \texttt{{u}}⏎⟦\item[Password] \texttt{{v}}⟧⏎\end{description}⏎
sticky note ¦ passwords.txt ¦ PpWV ¦ router⏎{h}⏎{u}⏎⟦{v}⟧⏎
graph of secrets in toml docs ¦ docs/streamlit.md ¦ PTU ¦ Put this in `.streamlit/secrets.toml`:⏎⏎```toml⏎⟦{n} = "{v}"⟧⏎```⏎
issue text ¦ issues/204.md ¦ TU ¦ **Describe the bug**⏎The export stops after 100 rows.⏎⏎**To reproduce**⏎⟦I call `client = Client("{v}")` and then `client.export()`.⟧⏎
terraform output ¦ docs/apply-output.txt ¦ PSU ¦ Apply complete! Resources: 4 added, 0 changed, 0 destroyed.⏎⏎Outputs:⏎⏎⟦{n} = "{v}"⟧⏎endpoint = "{h}"⏎
helm notes ¦ docs/install-log.txt ¦ PSr ¦ NAME: jenkins⏎STATUS: deployed⏎1. Get your 'admin' user password by running:⏎  kubectl exec svc/jenkins -- cat /run/secrets/chart-admin-password⏎⟦{v}⟧⏎2. Visit http://{h}:8080⏎
'''
BYTES = r"""
c array ¦ keys.c ¦ B ¦ #include <stdint.h>⏎⟦static const uint8_t {n}[32] = {⏎    {b:0x, /}⏎};⟧⏎
c array, upper case ¦ lora/keys.h ¦ B ¦ #pragma once⏎⟦static const unsigned char PROGMEM {N}[] = { {b:0X, } };⟧⏎
c string of escapes ¦ src/crypt.c ¦ B ¦ #include "crypt.h"⏎⟦static const char {n}[] = "{b:\x}";⟧⏎
xxd include ¦ build/key_bin.h ¦ B ¦ ⟦unsigned char {n}_bin[] = {⏎  {b:0x%02x|, |12|,\n  }⏎};⟧⏎unsigned int {n}_bin_len = 32;⏎
go byte slice ¦ .go ¦ B ¦ var {c} = []byte{{b:0x, }}
go decimal ¦ .go ¦ B ¦ {c} := [32]byte{{b:d, }}
java signed ¦ .java ¦ B ¦     private static final byte[] {N} = { {b:s, } };
java cast ¦ .java ¦ B ¦     private final byte[] {c} = new byte[] {{b:(byte) 0x, }};
kotlin ¦ Keys.kt ¦ B ¦ object Keys {⏎⟦    val {c} = byteArrayOf({b:s, })⟧⏎}⏎
swift ¦ Crypto.swift ¦ B ¦ import CryptoKit⏎⟦let {c}: [UInt8] = [{b:0x, }]⟧⏎
rust ¦ src/crypto.rs ¦ B ¦ ⟦pub const {N}: [u8; 32] = [⏎    {b:0x%02x|, |8|,\n    },⏎];⟧⏎
javascript typed array ¦ .ts .js ¦ B ¦ const {c} = new Uint8Array([{b:d, }]);
node buffer of hex numbers ¦ .ts ¦ B ¦ export const {c} = Buffer.from([{b:0x, }]);
python bytes list ¦ .py ¦ B ¦ {N} = bytes([{b:d, }])
python escapes ¦ .py ¦ B ¦ {N} = b"{b:\x}"
python fromhex, blanks ¦ .py ¦ B ¦ {n} = bytes.fromhex("{b:h }")
python bytearray ¦ .py ¦ B ¦ {n} = bytearray([{b:0x, }])
c# array ¦ .cs ¦ B ¦         private static readonly byte[] {P} = { {b:0x, } };
php escapes ¦ lib/crypt.php ¦ B ¦ <?php⏎⟦${n} = "{b:\x}";⟧⏎$iv = random_bytes(16);⏎
ruby pack ¦ .rb ¦ B ¦     {N} = [{b:0x, }].pack('C*')
powershell ¦ decrypt.ps1 ¦ B ¦ $path = 'C:\jobs\pw.txt'⏎⟦$key = [byte[]]({b:d,})⟧⏎$secure = Get-Content $path | ConvertTo-SecureString -Key $key⏎
registry hex ¦ device.reg ¦ B ¦ Windows Registry Editor Version 5.00⏎⏎[HKEY_LOCAL_MACHINE\SOFTWARE\Halden\Gateway]⏎⟦"{P}"=hex:{b:%02x|,|16|,\\n  }⟧⏎
solana id ¦ id.json deploy-keypair.json ¦ B ¦ [{b:d,}]
openssl text ¦ ec-key.txt ¦ B ¦ Private-Key: (256 bit)⏎priv:⏎⟦    {b:%02x|:|15|:\n    }⟧⏎ASN1 OID: prime256v1⏎
erlang binary ¦ src/token.erl ¦ B ¦ -module(token).⏎⟦key() -> <<{b:d,}>>.⟧⏎
assembler ¦ boot/key.S ¦ B ¦     .section .rodata⏎⟦{n}:⏎    .byte {b:0x%02x|, |8|\n    .byte }⟧⏎
toml list ¦ node/validator.toml ¦ B ¦ chain = "main"⏎⟦{n} = [{b:d, }]⟧⏎
json list ¦ config/device.json ¦ B ¦ {⏎  "id": 17,⏎⟦  "{c}": [{b:d, }],⟧⏎  "region": "eu868"⏎}⏎
"""
