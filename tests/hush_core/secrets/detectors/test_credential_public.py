"""What is public by its form is no credential, and its neighbours in form still are.

Each row of NEITHER is a kind of line that was reported falsely in public repositories; each of BOTH differs from
one of them in what makes it a credential. A rule that is dropped fails NEITHER, one that takes too much fails BOTH.
"""

# ruff: noqa: E501  (tables: one row a kind)

import base64
import random
import string

import pytest

from hush_core.secrets.detectors import credential_names, credential_unnamed, credentials
from hush_core.secrets.detectors.credential_public import is_everybodys, is_identifier, is_placeholder
from hush_core.secrets.detectors.credential_randomness import holds_text
from hush_core.secrets.detectors.credential_scanner import CredentialScanner

RANDOM = "x7Gq0TzLw4RbN9vKpY2cQm8sXa1d"
HEX = "3b7c91e0d5a24f68b1c7d9e2f4a60835c1e7b924"


def _token(payload: bytes) -> str:
    """A JSON Web Token of that payload."""
    parts = (b'{"alg":"HS256","typ":"JWT"}', payload, bytes(range(40, 72)))
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


def _certificate(size: int = 900) -> str:
    """Base64 of what begins as a certificate of so many bytes does (RFC 5280); the rest is drawn."""
    draw = random.Random(size)
    inner = (
        b"\x30\x82" + (size - 260).to_bytes(2, "big") + b"\xa0\x03\x02\x01\x02\x02\x10" + draw.randbytes(16)
    )
    whole = b"\x30\x82" + (size - 4).to_bytes(2, "big") + inner + b"\x30\x0d"
    return base64.b64encode(whole + draw.randbytes(size - len(whole))).decode()


def _signature() -> str:
    """Base64 of an ECDSA signature on a curve of 256 bits (RFC 3279)."""
    draw = random.Random(5)
    numbers = b"".join(b"\x02\x20" + bytes([draw.randrange(1, 127)]) + draw.randbytes(31) for _ in range(2))
    return base64.b64encode(b"\x30" + bytes([len(numbers)]) + numbers).decode()


def _wide(text: str, width: int = 100) -> str:
    return "\n".join(f"    {text[n : n + width]}" for n in range(0, len(text), width))


CERTIFICATE, SIGNATURE = _certificate(), _signature()
ARMOURED = base64.b64encode(
    b"-----BEGIN CERTIFICATE-----\nMIIB8TCCAZegAwIB\n-----END CERTIFICATE-----\n"
).decode()
ACCEPT = "q7Xw0LkT2vRzN5cYbM8dHsJ1GaE="
NEITHER = {
    "versions of a package": '"illuminate/auth": "^8.12|^9.0|^10.0",\n"auth0/auth0-php": ">=3.3,<=8.18"',
    "cast of a model": "'password' => 'hashed',",
    "types of a program": "secret := &corev1.Secret{\nSecret: &api1.LDAPBindAuth{},\nsecret *corev1.Secret,\nPassword: &corev1.SecretKeySelector{",
    "alphabets": 'keyStr = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";\npassword = substr(str_shuffle("0123456789abcdefghijklmnopqrstuvwxyz"), 40)',
    "marks of a tool for translations": "'current_password' => 'crwdns6113:0crwdne6113:0',",
    "encrypted by a configuration server": f"- first-password: '{{cipher}}{HEX}{HEX[:24]}'\npassword: {{cipher}}{{key:a1}}{RANDOM}{RANDOM}",
    "placeholder that asks for a random value": "APP_SECRET: replace-me-with-a-random-string\nurl: postgresql://app:replace-me-with-a-random-string@db:5432/app",
    "selectors": "'passwordElement': '#modal-password',\n'passwordElement': '#password',",
    "colours": '"deepskyblue": "#00bfff",',
    "name of a header under a key": 'contentSHAKey = "X-Amz-Content-Sha256"',
    "algorithm of a key": "importKey('raw', password, 'pbkdf2', false)",
    "rule with a stroke behind": "'password' => 'confirmed|'.Setting::rules('store'),",
    "pass of a compiler": "// Modified by compiler pass 'RequiredFieldAsNullable[nullable=true]'",
    "pairs that are counted": 'keysAndValues := []any{"key1", "value1", "key2", "value2"}',
    "width of a number": 'SubPath: fmt.Sprintf("%0*d.sql", count, i+len(refs.SecretRefs)),',
    "two variables": 'gpg --passphrase="$SIGN_KEY_PASSPHRASE" "$signkeypath"',
    "minified name": "var bind$1 = uncurryThis$5(uncurryThis$5.bind);",
    "method in a comment": "* {@link SecretManagerV1Strategy#checkRemotePermissions} instead).",
    "name of forty letters": 'AwsSecretPrivateNetworkAccessName = "PreflightMissingPrivateNetworkAccessName"',
    "address of IPv6": '{"https://[$1::1]@a", false},',
    "paths of a program": "keys:\n* `/api/ipam/l2vpns/` -> `/api/vpn/l2vpns/`\n* `/api/ipam/l2vpn-terminations/` -> `/api/vpn/l2vpn-terminations/`",
    "word of a sentence behind an option": '"adhatja meg a --passphrase-fd beállítást. A --decrypt opció mindig"',
    "login in Polish": '"ftp://nazwa_użytkownika:hasło@nazwa_hosta/folder"',
    "key that is cut short": "ca.key: LS0tLS1CRUdJTiBF…",
    "mark of a key in a sentence": "A key begins with `-----BEGIN RSA PRIVATE KEY-----`. If it begins with `-----BEGIN OPENSSH PRIVATE KEY-----` it is not loaded.",
    "names of a cloud's resources": '"Ref": "MyVpcPublicSubnet1SubnetF6608456", "SingletonLambda0dc9f04c622c4059b399834a2c1ac15fServiceRoleD59355BD"',
    "sum of a file": f'"cksum": "{HEX[:32]}{HEX[:32]}",',
    "serial number of a certificate": f"Serial Number: {HEX[:36]}",
    "captured functions": 'assert password == &escape_bind/1\ntoken.add(&krate.name, password: &user2.gh_login)',
    "list of algorithms": 'JWT_AUTH_ALGORITHMS = get("JWT_AUTH_ALGORITHMS", "HS256,RS256,ES256")',
    "rules of a password": "['my_password' => ['nullable', 'confirmed']]",
    "secret of a cluster by name": 'Secret: "default/other-demo-secret",',
    "names in place of a login": "serve --auth-key ACCESS_KEY_ID,SECRET_ACCESS_KEY local:/path",
    "member with a telling name": "a.CopySourceSSECustomerKeyMD5 = b.CopySourceSSECustomerKeyMD5",
    "field of a log": f"2024-01-16\t23:56:42\t1.2.3.4\tGET\t200\tHit\t{RANDOM}==\thttps\t48",
    "value in a row of a test": f'{{23, `{ACCEPT}`, "{RANDOM}"}},\nParseID("{RANDOM}"),',
    "types of media": 'parse(pass: ["text/plain", "application/vnd.api+json"])',
    "algorithms of a cipher": 'SecretKeySpec spec = new SecretKeySpec(decode(secret), "HmacSHA256");\nciphers = "ECDHE-RSA-AES128-GCM-SHA256"',
    "rule of a form": "'ntfy_pass' => ['required_with:ntfy_user,ntfy_auth', 'nullable', 'string'],",
    "patterns": """$hasLocationKey = $this->routeIs('api.v1.*');\n"Authorization": "^.+Credential=123/.+$",""",
    "function of a module": "A.wbg.__wbg_new_f841cc6f2098f4b5=function(){return key}",
    "picture under a key": f'key = "iVBORw0KGgoAAAANSUhEUgAAAAUA{RANDOM}"\nkey = "{RANDOM}AAAAAElFTkSuQmCC"',
    "archive in digits": f'body = "1f8b0800000000000000{HEX}"',
    "object at Twilio": f"TWILIO_SERVICE_SID=MG{HEX[:32]}",
    "login that says what it is": "CURLOPT_PROXYUSERPWD => 'user:password',",
    "variable that is not set": "SECRET_KEY: ${SECRET_KEY:?Variable not set}",
    "digest of a magnet link": f"// @license magnet:?xt=urn:btih:{HEX}&dn=agpl-3.0.txt",
    "picture's signed link": f'src="https://i.example.net/img/master/3904.jpg?width=645&amp;fit=max&amp;dpr=2&amp;s={HEX[:32]} 1290w">',
    "project of a solution": 'Project("{9A19103F-16F7-4668-BE54-9A1E7A4F7556}") = "App.Api", "App.Api\\\\App.Api.csproj", "{DFBEFB4C-DA19-4143-98B7-27320C7F7163}"',
    "encrypted note": f'{{"iv":"76ZUxZ3WWvKusZE4H7pKfg==","v":1,"ks":128,"cipher":"aes","salt":"tVgmTCWSasM=","ct":"{RANDOM}"}}',
    "folder of a command": 'ACTUAL="$(PWD="." nvm_find_project_dir)"',
    "sender under a telling name": "PW_SMTP_FROM=app@playwright.test",
    "texts of other scripts": '"getToken": "{0}からトークンを入手できます。",\n"consumerSecret": "消费者密钥（Secret）",',
    "label's translation": '"RabbitMQ Password": "Kata kunci RabbitMQ",',
    "constant that says its name": 'public const string IsApiKey = "Jellyfin-IsApiKey";',
    "key of an object in camel case": '"token": "Ask",\n"wayToGetZohoCliqURL": "You can learn how to create one {0}.",',
    "tag of an entity": f'"ETag": "{HEX[:32]}",',
    "boundary of a form": '"----------zEO9jQKmLc2Cq88c23Dx19"',
    "id with its kind": '"id": "price_1JAx31Lx4fybOTqJRcGdsSfg", "id": "2m6DeD067jeT6licX0011zF2x"',
    "record's id": '["moderation_01j6ax48wpfb4vas8qgv8vmg20"]',
    "message in digits": f'"{HEX * 7}"',
    "name of a key's column": "private WebElement keycloakManLovesJsx;",
    "key of a build's cache": f"<!-- cache-key: cdktf-0.20.8 input-{HEX[:32]}{HEX[:32]} -->",
    "systems with a telling part": 'targets = ["alpine-amd64", "alpine-arm64"]',
    "prose about a protocol": 'debug("AddOn: NTLM Upstream Authentication - Loaded")',
    "path in capitals": 'url: "SITE_ROOT/badge/67541b37-8b9c-4d17-b952-690eae/9X7kcZoe.shields"',
    "id of twenty characters": f'<mxCell id="{RANDOM[:20]}" _id="{RANDOM[:17]}" listId="{RANDOM[:22]}">',
    "id that a call takes": f'NodeID: Ptr("{RANDOM[:20]}"),',
    "id of a client": f'"client_id": "{RANDOM}",\nX-OAuth-Client-Id: {HEX[:20]}\n',
    "id behind words": 'ref: "SITE_ROOT31365bce-8da9-4729-8ff3-aaa71d56b712", name: "task_4cf45860-3fe3-11eb-8740-12f4b5a75f47_1.2"',
    "part of an address": f"[plan](https://boards.corp.io/b/{RANDOM[:20]}/our-plan) `/b/{RANDOM[:20]}/innohub/tasks`",
    "address in an address": f"go?to=https%3A%2F%2Fwww.corp.io%2F{RANDOM[:20]}%2Fitems",
    "digits in a list": f'["{HEX[:32]}", "{HEX[8:]}"], x-served-by: ["{HEX[:32]}"]',
    "digits that a test expects": f'assertEqual("{HEX[:32]}", digest)\nexpect(note).toBe("{HEX[:32]}")',
    "vector and ciphertext": f'{{"iv": "{RANDOM}", "ciphertext": "{RANDOM * 4}"}}\nencryption_cipher_text: {RANDOM}\n',
    "signature under its name": f'"proof": {{"signature": "{RANDOM * 3}"}}',
    "value with another's name before": f'"Access-Control-Expose-Headers":["ETag, X-OAuth-Scopes"],"uri":"https://api.corp.io/gists","version":"{HEX}"',
    "encoded text behind an address of an API": f'"uri":"https://api.corp.io/user","string":"{base64.b64encode(b"{description: my first gist}").decode()}"',
    "header to be filled in": 'curl -H "X-Api-Key: your-api-key" https://a.b',
    "variable behind its type": "OAuth2AuthorizationCodeRequestAuthenticationToken authorizationCodeRequestAuthentication = x",
    "host behind an option": "  -upstream=http://localhost:3000/ \\\n",
    "address of a purse": f"- bitcoin: `1{RANDOM}`",
    "certificate under a telling name": f"SAML_IDP_KEY={CERTIFICATE}",
    "certificate in a log": f"read key and cert {CERTIFICATE} of the peer",
    "certificate in wide lines": f"saml:\n  certificate: >\n{_wide(CERTIFICATE)}",
    "certificate in strings": 'String key = "' + '" +\n  "'.join(CERTIFICATE[n : n + 90] for n in range(0, len(CERTIFICATE), 90)) + '";',
    "signature in DER": f'signature_key: "{SIGNATURE}"',
    "certificate in armour": f"kind: Secret\ndata:\n  tls.crt: {ARMOURED}\n",
    "keys for GnuPG to fetch": f"apt-key adv --keyserver hkp://keys.corp.io --recv-keys {HEX.upper()} 7EA0A9C3F273FCD8\n",
    "key of a signature": f"ENV GPG_KEY {HEX.upper()}\n",
    "answer of a WebSocket": f"expect(headers['Sec-WebSocket-Accept']).toBe('{ACCEPT}')",
    "code on a line of its own": f'Authorization: MAC id="a",\n  mac="{ACCEPT}"',
    "symbol of Swift": "conn`$s3NIO7Channel_pypypAA15EventLoopFutureCyytGIegnno_Ieggo_AaB_pxq_q0_r1_TR",
    "symbol of C++": "call _ZN4core3fmt9Formatter12pad_integralE7b1kQ",
    "id of an advisory": "the auto-login cookie could be forged ([GHSA-w6j9-vw59-27wv](https://a.b/GHSA-w6j9-vw59-27wv))",
    "boundary of a part": f"    b'--{HEX[:32]}--\\r\\n'",
    "boundary that is added": f"content_type = 'multipart/form-data; boundary=' + '{HEX[:32]}'",
    "field of a program in Go": "type user struct {\n\tName     *string\n\tPassword *string\n}",
    "argument of a program in Go": "//sys PFXImportCertStore(pfx *CryptDataBlob, password *uint16, flags uint32)",
    "value made in Go": "Credentials: &v1pb.SignInRequest_SsoCredentials{",
    "member that may be missing": 'value={selected?.accessKeySecret ?? ""}',
    "route": 'tmplAuthResetPassword = "auth/reset_passwd"',
    "file under a variable": 'export DB_PASSWORD="$TEMP_DIR/unreadable_file"',
    "number of a device": "ioctl_pass_key: -0x3fdf966f\n",
    "variable in a list": 'password: "AWS_SECRET_ACCESS_KEY="',
    "template of a login": "secret = f'{username}:{password}'",
    "end of its own name": 'KEY_MAIL_SERVICE_PASSWORD="mail-service-password"',
    "variable as a key": '(key = "OAUTH2_B2C_ENABLED", value="false"),',
    "names in a list": "    'survey_passwords',\n    'all_parents_must_converge',\n",
    "archive": "7z a -p wekan-$1-amd64.zip bundle",
    "mark of what is encrypted": "assert inputs['password'] == '$encrypted$'",
    "mark of what is filtered": 'params: {"password" => "[FILTERED]"}',
    "kind of a resource": "resource keyVault 'Microsoft.KeyVault/vaults@2022-07-01' = {",
    "token of a public key": "<PublicKeyToken>^B77A5C561934E089$</PublicKeyToken>",
    "route of Rails": 'get "/login/forgot_password" => "login#forgot_password",',
    "path in JSON": """expose-password: "{.data['database-password']}\"""",
    "pattern": "first_pass = re.sub(r'([a-z])([A-Z0-9])', r'1', name)",
    "user of a token in an address": "clone https://{token}:x-access-token@github.com/a/b",
    "key's name": f'headers={{"kid": "{HEX[:32]}"}}',
    "id of a container": f'"Id": "{HEX}9a4e07d2b85f13c6e0947ad1",',
    "id in a line of others": "disk,serial=06c9f4c44,type=sat,wwn=5001b4409f6c444c capacity=1i",
    "id of a job": '{"class":"ApiJob","job_id":"37649eb0-c437-4e00-8a29-85cc12da1440"}',
    "class of a page's element": "label(for='password') Password\n  .col-sm-7\n",
    "imports in lines of three words": "from flask import *\nfrom app import *\n",
    "rules of a form": "'password' => 'required|alpha_dash|string|max:255',",
    "something else that is passed": "<h1>Pass 'AtLeast21' policy with a view</h1>",
    "letters of two words": '<Router AppAssembly="typeof7Program" NotFound="b">',
    "translation": '"Password": "രഹസ്യവാക്ക്",\n"Confirm Password": "ਪਾਸਵਰਡ ਪੱਕਾ ਕਰੋ",',
    "folder of local secrets": "<UserSecretsId>4fbf1979-344a-4ff5-8b0d-9d9d6bcf2ff3</UserSecretsId>",
    "name with the id of an object": '"Server=(localdb);Database=aspnet-Samples-6A192CBF-5B18-4227-BD67-A0E1B39FB1C2;Trusted_Connection=True"',
    "path that is drawn": 'd="M464 448v-416h320 -16v416h-320v-416h320zM208 h320"',
    "template in a tag": "<d:sync-token>http://sabre.io/ns/sync/{$token->id}</d:sync-token>",
    "token of a synchronisation": '<d:sync-token>"00000-abcd0"</d:sync-token>',
    "name in capitals of an option": "  --api-token API_TOKEN, -a API_TOKEN\n",
    "names of two fields": 'fields = ("username", "password1", "password2"),',
    "pointer to a type": "func probe(accessKey, secretKey, url string, authKey *x509.Certificate) error\n- **client_secret:** **int64**\n",
    "path behind a name": "// LOGIN_UNUSED: GET /oauth2/auth\n",
    "what is passed through": 'Adding passthrough "catch", "finally7" to it\n',
    "id of an environment": f'"environmentId": "{HEX[:32]}", --comment-id {HEX[:32]} \n',
    "id of a key": '"keyId": "PmBxU3RuGJLgkLI2sUl2Jy9ntE1vks5vdxFKtyKgprY="\naws kms get --key-id 37649eb0-c437-4e00-8a29-85cc12da1440\n',
    "token of a page": '"NextToken": "37649eb0-c437-4e00-8a29-85cc12da1440",\naws swf list --next-page-token "AAAAKgAAAAEA1Gp1BelJq"\n',
    "digest of a type": f'"AWS::EC2::KeyPair": "{HEX[:16]}",\n"AWS::DirectConnect::PrivateVirtualInterface": "{HEX[:16]}",',
    "number of a certificate": f"serialNumber: '{HEX[:32].upper()}',",
    "name with an acronym": "x = RoCBertForMaskedLM\ny = Kolibri1ForCausalLM()\n",
    "example that says so": '"DeviceKey": "us-west-2_a1b2c3d4-5678-90ab-cdef-EXAMPLE11111",',
    "names of one kind in a list": "    'sodium_crypto_box_publickey',\n    'sodium_crypto_pwhash_str',\n    'sodium_crypto_stream_orbit_canyon',\n",
    "ulid": "$ulid = '01D85PP1982GF6KTVFHQ7W78FB';",
    "pod": "www-data@ingress-controller-7cbf77c976-wx5pn:/etc$",
    "constant": "#define MATRIX_A 0xB5026F5AA96619E9ULL",
    "file named after its digest": f'"pack-{HEX}"',
    "signature of a request, escaped": "?oauth_signature_method=HMAC-SHA1&oauth_signature=VQAib%2F4uRPwfVmCZkgSE3q2p7zU%3D",
    "encrypted in blocks": f"token:\n  secure: {(RANDOM * 3)[:64]}",
    "algorithms": 'disabled = dict(keys=["rsa-sha2-256", "ecdsa-sha2-nistp256"])',
    "file of keys": 'load_key("jwk_ec_pub_P-521.json")\nkey: jwk_ec_pub_P-521.json\n',
    "fingerprint in quotes": '["ssh-rsa", RSAKey, "SHA256:OhNL391d/beeFnxxg18AwWVYTAHww+D4djEE7Co0Yng"]',
    "reference to a store": 'password = "@{store:http_password}"',
    "text between strings": 'sb.Append("  Password: ").Append(Password).Append("\\n");',
    "template in a link": '"/s%s?apikey=consumer-%s"',
    "address in a manifest": "kind: Secret\nstringData:\n  url: http://localhost:8080\n",
    "switch in a manifest": "kind: Secret\nstringData:\n  tls: true\n",
    "chain of calls": "OAuth2Authorization authorization = TestOAuth2Authorizations\n    .authorization(x)",
    "output of a command": "chown -R `id -u`:`id -G | cut -d x` /data # curl",
    "word of an extractor": "xgettext --keyword=pgettext:1c,2 a.py",
    "store of keys": "keytool -importcert -keystore validations-truststore.p12 -alias ca",
    "message of words": "'password' => 'El valor es incorrecto',",
    "value that Terraform does not know yet": '"user_data.secret": "74D93920-ED26-11E3-AC10-0800200C9A66",',
    "message in lower case": "'password' => 'please enter some value',",
    "message with a digit": '"password": "Enter at least 8 characters",',
    "title of a field": 'password = "Kennwort 2 wiederholen"',
    "call": "password = get_password(a1)",
    "index": "password: kwargs[1]",
    "name of a type of token": 'token = "urn:ietf:params:oauth:token-type:jwt"',
    "name of a schema": 'secret: "urn:example:names:main"',
    "a field's name in a manual": "Give the password `password_field`.",
    "pin of an action": f'uses: "example/configure-credentials@{HEX}" # v6',
    "pin of a certificate": '.add("example.com", "sha256/Vjs8r4z+80wjNcr1YKepWQboSIRi63WsWXhIMN+eWys=")',
    "thumbprint beside a subject": f"| `CN=Example Signing CA, O=Example Inc` | `{HEX.upper()}` |",
    "encrypted for a build": f'token:\n  secure: "{RANDOM * 4}="',
    "nonce of a challenge": f'WWW-Authenticate: Digest nonce="{HEX[:32]}"',
    "handshake": "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "link to a list": "[talk](https://www.youtube.com/playlist?list=PLFrwDVdSrYE6dy14XCmUtRAJuhCxuzJp0)",
    "name in camel case": "private BoolOption _failOnNullOrEmptyForEach; // token",
    "cut short by its author": '--api-key "MlVtVjBZ...ZSYlduYnF1djh3NG5FQQ"',
    "name with digits": "if (flagArg1And2AreWords) { token = generateOAuth1Header(x) }",
    "what describes itself": 'auth: { apiKey: "base64EncodedKey" }\nPASSWORD=some-super-secret-password\n',
    "public key in DER": "publicKey=MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBALK4BUxdDltRRE5zXx7Gq0TzLw4RbN9vKpY2cQm8sXa1d",
    "public key of SSH": "signing_key: AAAAC3NzaC1lZDI1NTE5AAAAIx7Gq0TzLw4RbN9vKpY2cQm8sXa1dVt5ReW0pLzK3jHq",
    "page under a telling word": "* API token [talk](https://youtu.be/wGtS5qQ0bC0)",
    "identifier of a response": f"X-Amz-Cf-Id: {RANDOM}",
    "token of a badge": "[![cov](https://codecov.io/gh/a/b/graph/badge.svg?token=x7Gq0TzLw4)](https://codecov.io)",
    "word that begins as a telling one": '// e.g. passing "type.corp.io/rpc.Origin1" will return',
    "function of that name": 'assert tc.auth_password("bad-server1", "hello")',
    "sentence with the words of netrc": "# the default password upon installation is blank",
    "file of a build": 'deps = ["assets/ArtifactKey-zVSjHejk.js","assets/Token-CaWhPp9oQ3x7Gq0TzLw4.js"]',
    "parameter behind a template": "client_secret=<SECRET>&email=<EMAIL>&password=<PASS>\n",
    "example of a standard": "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
    "metasyntactic words": "route = 'nats://foo:bar@corp.de:4245' # password: foobar",
    "placeholder in a login": "Authorization: Basic dXNlcm5hbWU6cGFzc3dvcmQ=",
    "placeholder in a URL": "proxy = 'http://username:password@proxy.corp:8030'",
    "name of a mechanism": "mongodb://db.corp/x?authMechanism=SCRAM-SHA-256",
    "permissions of a workflow": "secrets: inherit\n",
    "key of a cache": "cache_key: windows-2022-msvc-cl1\n",
    "serialised object": f'kDefaults = "{base64.b64encode(bytes([10, 25]) + b"google/protobuf/any.proto" + bytes(range(128, 170))).decode()}"',
    "block of strings": "\n".join(f'+ "{RANDOM}{RANDOM}{line:02}kQ9zXw\\n"' for line in range(6)),
    "messages of a program": "lost.password = Zapomenut\\u00e9 heslo\nreset.password = Reset your password\nbad.credentials=Ung\\u00fcltige Anmeldedaten\n",
    "coordinates of a library": 'oauth-sdk = "com.nimbusds:oauth2-oidc-sdk:11.38.2"',
    "list of names": "tables = ['passwd', 'shadow', 'group']",
    "when to do what": "update_password: always\n",
    "file of a key": "key: /tmp/RPM-GPG-KEY-EPEL-7\n",
    "reference to a secret": "secret: urn:k8s:secret:name:key\n",
    "template": 'login = {"user": "bob", "password": "{OS_PASSWORD}"}',
    "placeholder in base64": "password: c2VjdXJlLXBhc3N3b3Jk\n",
    "module of Perl": "# there is another Authen::NTLM module available",
    "option of openssl": "openssl genpkey -algorithm DH -pkeyopt group:ffdhe4096",
    "data of another document": "kind: Secret\nmetadata: {name: a}\n---\nkind: ConfigMap\ndata:\n  cpu: 25mx7\n",
    "user of a manifest": "kind: Secret\nstringData:\n  username: admin7\n",
    "kind of a service in a manifest": "kind: Secret\nstringData:\n  type: postgresql\n  provider: mariadb-ha\n",
    "armour with nothing in it": "kind: Secret\ndata:\n  tls.key: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCi0tLS0tRU5EIFBSSVZBVEUgS0VZLS0tLS0=\n",
    "boundary of a message": f"--axios-boundary-{RANDOM}",
    "verification of a site": f":google-site-verification: {RANDOM}",
    "signature of a request": "oauth_signature=JzgJWBxX664OiMW3WE4MEjtYwOjIpaUWHqtdHe68Es",
    "challenge of a browser": f'challenge: base64url.decode("{RANDOM}"), rawId: "{RANDOM}"',
    "hashed name of a host": "|1|L0TqxOhAVh6mLZ2lbHdTv3owun0=|vn0La5pbHNxin3XzQQdvaOulvVU= ssh-rsa",
    "message behind a sign without blanks": "reset.password=Reset your password\n",
    "mac of a request": f'Authorization: MAC id="a", nonce="7:x", mac="{RANDOM}"',
    "template of a digest": f'password_sha256 = "{HEX[:32]}"',
    "call in quotes": 'password = "varchar(255)"',
    "folder in quotes": 'secret = "conf/"',
    "volume": 'volumes = {"/dev/sda1": "66Ojcd-ULtu-1cZa-Tywo-mx0d-RF4O-ysA9jK"}',
    "commit of a version": f"export LUA_COOKIE_VERSION={HEX}",
    "digest named behind": 'pins = Pair("d6qzRu9zOECb90Uez27xWltNsj0e1Md7GkYYkVoZWmM=", "sha256")',
    "digest in escaped quotes": r'"max-age=5 ; pin-sha256=\"d6qzRu9zOECb90Uez27xWltNsj0e1Md7GkYYkVoZWmM=\""',
    "fingerprint of a key": f"id: 0x{HEX.upper()}",
    "text in base64": 'assert encoded == "' + base64.b64encode("Ansible - くらとみ\n".encode()).decode() + '"',
    "wide text in base64": 'assert encoded == "' + base64.b64encode("Ansible is here\n".encode("utf-16-le")).decode() + '"',
    "fragment of a page": "// https://groups.google.com/forum/#!topic/liftweb/V1pWy14Wl3A",
    "first line of a certificate": f"-----BEGIN CERTIFICATE-----\nMIID6TCCAtGgAwIBAgIJAI{RANDOM}{RANDOM}\n...\n",
    "token of jwt.io": "token = '" + _token(b'{"sub":"1234567890","name":"John Doe","admin":true,"iat":1516239022}') + "'",
    "token of the manuals": "token = '" + _token(b'{"sub":"1234567890","name":"John Doe"}') + "'",
    "commit in quotes": f'x = "{HEX}"',
    "digest on a line": f"x: {HEX[:32]}\n",
    "call of that name": 'x = token("sunshine7")',
    "example of a manual": "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;",
    "public part of a key": f'{{"kty": "RSA",\n "e": "AQAB",\n "n": "{RANDOM}{RANDOM}"}}',
    "secret kept elsewhere": "token: default/demo-token\n",
    "head of a table": "| user | password | created |\n|---|---|---|\n",
    "parameter of a program": "password,salt1x = split(line)",
}  # fmt: skip
BOTH = {
    "sign and digits of a password": 'password = "~8.12kettle"',
    "password with the word hashed": 'password = "hashed-kettle-moon9"',
    "and before a password": 'password = "&corev1.secret9"',
    "alphabet that is not whole": 'password = "abcdefgh9!moonxyz"',
    "password like a mark of translations": 'password = "crwdns61:kettle9"',
    "password in braces": "password: '{cipher9}kettle'",
    "replace within a passphrase": 'password = "replace-kettle-moon-tiger"',
    "password like a selector": 'password = "#Kettle-moon9"',
    "password like a colour": 'password = "#00bfFg1"',
    "password like a header": 'password = "X-kettle9-Moon"',
    "password with an algorithm": 'password = "pbkdf2kettle"',
    "stroke within a password": 'password = "confirmed|kettle9"',
    "bracket in a password": 'password = "Kettle[moon9]"',
    "percent in a password": 'password = "%0kettle*d9"',
    "variable in a password": 'password = "$kettle9$moon"',
    "hash within a password": 'password = "Kettle#moon9"',
    "password of a bracketed host": "https://ann:kettle9moon@[2001:db8::1]/",
    "path with a number's value": f'api_key = "/api/key/{RANDOM}"',
    "password with a full stop": 'password = "kettle9moon."',
    "Polish password": '"ftp://nazwa:hasło9Kettle@host/folder"',
    "key of AWS": f'aws_secret_access_key = "{RANDOM}{RANDOM[:12]}"',
    "key that ends in dots": f'api_key = "{RANDOM}"…',
    "key behind the mark in a sentence": f"A key begins with `-----BEGIN RSA PRIVATE KEY-----`, as this one does:\n-----BEGIN RSA PRIVATE KEY-----\n{RANDOM}{RANDOM}\n{RANDOM}{RANDOM}\n-----END RSA PRIVATE KEY-----",
    "question before a password": 'password = "?Kettle9moon"',
    "password like an address of mail": "SMTP_PW=app@playwright.test",
    "names that begin with pin": 'pinecone_secret: kettle9moon\n"pinataToken": "kettle9moon"',
    "token with its kind under an id": f'"id": "token_{RANDOM[:20]}"',
    "words with a stroke": "password: kettle/moon-secret",
    "password that repeats its name": "dbPassword = 'prod-dbPassword'",
    "words in capitals": "password=KETTLE_MOON:TREE_HOUSE",
    "digits behind a dotted login": "https://john.dev:12345@host/",
    "variable in small letters": 'password = "$kettle/moon9"',
    "argument that is decoded": f'use(base64.b64decode("{RANDOM}"))',
    "cell of a table": f"| ann | {RANDOM} | admin |",
    "option in a list": f'args = ["--k", "{RANDOM}"]',
    "password of an address": f"redis://:{RANDOM}/{RANDOM}@cache:6379/0",
    "word of a sentence": f"Ihr Zugang lautet {RANDOM} und gilt bis Mai",
    "key with a digest behind": f'"Ref": "{RANDOM}F6608456", key',
    "password with a stroke": 'password = "kettle/moon-secret9"',
    "token of vault": "export VAULT_TOKEN=s.x7Gq0TzLw4RbN9vKpY2cQm8s",
    "capitals of a password": 'password = "KETTLE_9:MOON_TREE"',
    "field of a log about a token": f"2024-01-16\t23:56:42\tGET\t200\ttoken of ann\t{RANDOM}==\thttps\t48",
    "element above a telling word": f'rows = [(1, "{RANDOM}")]\n\n# each row is a session token\n',
    "value in a row of logins": f'// user, password\n{{"ann", "{RANDOM}"}},',
    "slash in a passphrase": 'password = "text/Kettle9"',
    "key with an algorithm in front": f'key = "HmacSHA256-{RANDOM}"',
    "required in a password": 'password = "required:kettle9!"',
    "caret and dollar in a password": 'password = "^Kettle9moon$"',
    "stars behind a point": 'password = "k3ttle.Moon*"',
    "key that begins as a picture": f'key = "iVBORw{RANDOM}"',
    "key in digits": f'api_key = "1f8b0{HEX}"',
    "secret at Twilio": f"TWILIO_AUTH_TOKEN={HEX[:32]}",
    "login with a password": "CURLOPT_PROXYUSERPWD => 'user:kettle9moon!',",
    "default of a variable": "${DB_PASSWORD:-kettle9moon}",
    "token of a resource": f"urn:token:{RANDOM}",
    "UUID that a project is given": 'Project.secret = "DFBEFB4C-DA19-4143-98B7-27320C7F7163"',
    "key of a cipher": f'"cipher":"aes","key":"{RANDOM}"',
    "password of a data source": "Server=db;UID=sa;PWD=kettle_moon_9x;",
    "password with an at sign": 'SMTP_PASSWORD="annKettle9@moon"',
    "password in another script": 'password = "крокодил{9}гена"\npassword = "(крокодилгена)"',
    "password behind a label": '"RabbitMQ Password": "kettle moon 9 tiger",',
    "value longer than its name": f'ApiKey = "Jellyfin-ApiKey-{RANDOM}"',
    "token as the key of an object": f'"token": "Ask",\n"{RANDOM}": "ann"',
    "dashes before a key": f'key = "------{RANDOM}"',
    "token under an id": f'"id": "sess_{RANDOM}{RANDOM}"',
    "key of a cached service": f'cache = new Cache(api_key: "{HEX}")',
    "password for a pin": 'pin = "kettle9moon"',
    "secret of IPsec": ': PSK "kettle9moon"',
    "long value of an id": f'<mxCell id="{RANDOM}">',
    "id of a session of twenty characters": f'session_id = "{RANDOM[:20]}"',
    "secret of a client's id": f'"client_id_secret": "{RANDOM}"',
    "UUID behind a telling word": 'x = "app.token.37649eb0-c437-4e00-8a29-85cc12da1440"',
    "random value behind words": f'ref: "SITE_ROOT-{RANDOM}"',
    "value that begins with a slash": f'x = "/{RANDOM}/q8sX"',
    "fragment of an address": f"https://share.corp.io/files#{RANDOM}",
    "digits that a name is given": f'x = "{HEX[:32]}"',
    "digits that a client takes": f'Client("{HEX[:32]}")',
    "key beside a vector": f'{{"iv": "{RANDOM[:22]}", "cipher_key": "{RANDOM}"}}',
    "key of a signature's name": f'signature_key: "{RANDOM}"',
    "name in an open bracket": f'auth: {{"url":"https://a.b","digits":"{HEX[:32]}"}}',
    "header with a value": 'curl -H "X-Api-Key: your-dog-eats-9-pears" https://a.b',
    "bearer in camel case": 'curl -H "Authorization: Bearer kettleLoginMeadowCache" https://a.b',
    "password behind a host": "curl -u ann:localhost3000/ https://a.b",
    "key of a purse": f"bitcoin_private_key: {RANDOM}",
    "private key as long as a certificate": f"SAML_IDP_KEY=MIIEvgIBADANBgkqhkiG9w0BAQEFAASC{RANDOM * 3}",
    "encrypted private key": f"SAML_IDP_KEY=MIIFHDBOBgkqhkiG9w0BBQ0wQTApBgkqhkiG9w0BBQwwHA{RANDOM * 3}",
    "keystore in base64": f"KEYSTORE=MIIKZgIBAzCCCiAGCSqGSIb3DQEHAaCCChEEggoN{RANDOM * 3}",
    "passphrase of GnuPG": f"gpg_key_passphrase: {HEX}",
    "digits behind dashes": f"export API_KEY=--{HEX[:32]}x",
    "advisory with more": "reset_token: GHSA-w6j9-vw59-27wv-8Kq2",
    "slash in a password": 'password = "auth/Reset_9"',
    "exclamations in a password": 'password = "!!!Kettle9"',
    "dollar before a slash": 'password = "$aB3/kettle"',
    "ampersand before a dot": 'password = "&b3.kettle"',
    "question before a dot": 'password = "What?.9now"',
    "password like an archive": 'password = "Kettle-moon9.zip"',
    "two words around a sharp": 'password = "kettle#moonrise"',
    "capitals behind exclamations": 'password = "!!!KETTLE"',
    "ampersand before capitals": 'password = "&kettle.Moon9"',
    "percent and tilde in a password": 'password = "kE%~7t!tle-moon"',
    "licence under a key": 'key = "X7K2_9QPL_MZTA"',
    "capitals that end in an equals sign": 'password = "K9_MOON4="',
    "braces in a password": "password: '{blue}:{k3ttle}'",
    "more than its own name": 'KEY_MAIL_SERVICE_PASSWORD="mail-service-password-9x"',
    "capitals with digits under a key": 'key = "KETTLE9_X2MOON7"',
    "password below a name": "    'password',\n    'Kettle!moon9',\n",
    "archive's password": "7z a -pKettle.9zip bundle.7z",
    "dollars around a password": 'password = "$Kettle9$"',
    "password filtered": 'password = "[FILTERED9x!"',
    "token of a key": "<SecretKeyToken>B77A5C561934E089</SecretKeyToken>",
    "sharp in a password": 'password = "login#Kettle9"',
    "brackets around letters": 'password = "k[a-x]ettle9"',
    "token of a cache": f"CACHE_TOKEN={HEX}",
    "secret of a cache": f"CACHE_SECRET={RANDOM}",
    "secret that sorts": f"sort_secret={RANDOM}",
    "key behind a cache": f"redis cache, api_key: {HEX[:32]}",
    "star in a password": "Password *string9",
    "hexadecimal password": 'password = "0x3fdf966fa2"',
    "variable with a value": "AWS_SECRET_ACCESS_KEY=kettle-9-moon-blue",
    "option for a key": f"deploy --api-key {HEX}",
    "secret of a WebSocket": f'websocket_secret = "{ACCEPT}"',
    "digits under a telling name": f"type=sat,api_key={HEX[:32]}",
    "value of a name on its line": f'{{"key": "api_token", "value": "{HEX[:32]}"}}',
    "id of all kinds": f'"id": "{RANDOM}"',
    "UUID under a telling name": "type=sat,api_key=37649eb0-c437-4e00-8a29-85cc12da1440",
    "secret of an id": f'client_id_secret = "{HEX[:32]}"',
    "key of 32 bytes that is called secure": f'secure: "{(RANDOM * 2)[:43]}="',
    "dashes in a key": 'api_key = "1234-abcd7-9012-ef5k"',
    "digest for a password": f'password = "sha256:{HEX[:32]}"',
    "login at an address": "kind: Secret\nstringData:\n  url: http://ann:hunter2x@db:8080\n",
    "password before a call": 'client.login("ann", "tiger_1999")\n    .then(x)',
    "file for a password": 'password = "tr0ub4dor.json"',
    "short value that is called secure": f'secure: "{RANDOM}{RANDOM}="',
    "value of a type's name": f'"AWS::SecretsManager::Secret": "{RANDOM}"',
    "letters that are no words": 'x = "Xqzvb7Wkjrt9Tbnmpl2Q"',
    "token to change a password": f'password_change_token = "{RANDOM}"\n',
    "id of a session": f'event["session_id"] = "{HEX[:32]}"',
    "what a test expects": f'assert computed == "{HEX[:32]}"',
    "answer to a challenge": f'response="{HEX[:32]}"',
    "subject of a claim": f'{{"sub": "{RANDOM[:20]}", "aud": "web"}}',
    "public key of NATS": "nkey: UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4",
    "challenge of a code": f"code_challenge='{RANDOM}'",
    "badge of a build": f"https://circleci.com/gh/a/b.svg?style=shield&circle-token={HEX}",
    "token of foo": "token = '" + _token(b'{"foo":"bar","iat":1516239022}') + "'",
    "token of no claims": "token = '" + _token(b"1") + "'",
    "default of a product": "POSTGRES_PASSWORD: postgres\n",
    "word of its own name": "KONG_PG_PASSWORD: kong\n",
    "its own name": 'client_secret = "clientSecret"\n',
    "word for a password": "password = Wachtwoord\n",
    "user for a password": "GRANT ALL ON *.* TO monitor@localhost IDENTIFIED BY 'monitor';",
    "certificate of a manifest": "kind: Secret\ndata:\n  ca.crt: VEVTVFJPT1RDQVMw\n",
    "id beside a secret": f'{{"client_id": "x", "client_secret": "{RANDOM}"}}',
    "secret id": f'"secret_id": "{HEX[:32]}"',
    "session id": f'session_id = "{HEX[:32]}"',
    "what a login expects": f'if api_key == "{HEX[:32]}":',
    "key in a key's form": f'{{"kty": "oct", "k": "{RANDOM}"}}',
    "seed of NATS": "nkey_seed: SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY",
    "secure beside a word": f"secure_token: {RANDOM}",
    "form on an unknown site": f"token: https://forms.corp.de/forms/{RANDOM}",
    "verifier of a code": f"code_verifier_secret='{RANDOM}'",
    "filtered and more": 'password = "Filtered4Coffee"',
    "word of another name": "POSTGRES_PASSWORD: sunflower\n",
    "word that begins as its name": "DB_PASSWORD: dbsunflower\n",
    "name and more": 'client_secret = "clientSecret7x!"',
    "other user": "GRANT ALL ON *.* TO monitor@localhost IDENTIFIED BY 'sunflower';",
    "account behind a word": "machine a login b password sunflower account admin at",
    "password like a host": 'password = "correct9horse.net"\n',
    "key of a manifest": "kind: Secret\ndata:\n  ca.key: c3VuZmxvd2VyOQ==\n",
    "pin": "door_pin = 'q7w2k9m4x8'\n",
    "token with a name": "token = '" + _token(b'{"foo":"bar","email":"a@b.c"}') + "'",
    "random letters and digits": 'x = "Xk9OvTr2Ws8Lq4Zn7Bd3Yh"',
    "passwords' store": "keytool -keystore-password hunter2x9 -list",
    "word of settings": "password = Sunshine\n",
    "password before a word": "password=hunter2 x\n",
    "word in code": 'class A:\n    pass\ndef f(x):\n    return g(x)\npassword = "sunshine"\nfor i in x:\n    f(i)',
    "angle in a password": 'password = "Moon<3Star"',
    "setter": 'source.setPassword("hunter2x");',
    "comparison": ('if password == "hunter2x" {', [HEX[:32]]),
    "in escaped quotes": r'x = "{\"password\": \"hunter2x\"}"',
    "borrowed string": 'let password: &str = "hunter2x";',
    "secure string": '$x = ConvertTo-SecureString "hunter2x" -AsPlainText -Force',
    "said in a comment": "# the password is hunter2x\n",
    "one case in quotes": 'x = "q7w2k9m4x8n5b3v6c1z0"',
    "hexadecimal in quotes": f'x = "{HEX[:32]}"',
    "sixteen characters": f'x = "{RANDOM[:16]}"',
    "sixteen on a line": f"x: {RANDOM[:16]}\n",
    "password after a challenge": "challenge_password: hunter2x\n",
    "key of a version": f'version_key = "{RANDOM}"',
    "data of the second document": "kind: ConfigMap\n---\nkind: Secret\nstringData:\n  x: correct-7-horse\n",
    "password of a manifest": "kind: Secret\nstringData:\n  password: admin7x\n",
    "secret of forty digits": f'api_secret = "{HEX}"',
    "password in base64": "password: Y29ycmVjdC03LWhvcnNl\n",
    "token of somebody": "token = '" + _token(b'{"sub":"4711","name":"Jane Roe"}') + "'",
    "action's input": f'token: "{RANDOM}" # v6',
    "key after a digest's name": f'sha256_secret = "{RANDOM}"',
    "key beside a subject": f"CN=Example; api_key={RANDOM}",
    "nonce's key": f"define('NONCE_KEY', '{RANDOM}');",
    "key in a link": f"https://api.corp.com/v1?access_token={RANDOM}",
    "unknown parameter": f"https://api.corp.com/v1?zx={RANDOM}",
    "letters alone": 'secret_key = "qZxTvLwKdRbYpNsUeHcJmAgfXo"',
    "login": "Authorization: Basic " + base64.b64encode(b"deploy:tr0ub4dor&3").decode(),
    "password in a URL": "proxy = 'http://deploy:tr0ub4dor3@proxy.corp:8030'",
    "secret of a workflow": "client_secret: Cl1ent$ecret!\n",
    "key of an account": f"account_key: {RANDOM}\n",
    "one string": f'data = "{RANDOM}"',
    "password that begins as a description": 'PASSWORD="super-strong-horse-battery1"\n',
    "password of words and digits": 'password: "pass123word"\n',
    "private key in DER": f"privateKey=MIICdQIBADANBgkqhkiG9w0BAQEFAASCAl8{RANDOM}",
    "path with a value under a telling word": f"* API token https://api.corp.de/hook/{RANDOM}",
    "token beside a badge": f"badge_token = '{RANDOM}'",
    "metasyntactic word and more": "route = 'nats://foo:bar7k@corp.de:4245'",
    "function of SQL": "INSERT INTO mysql.user VALUES ('app', PASSWORD('tr0ub4dor&3'));",
    "line of netrc": "default login anonymous password tr0ub4dor3\n",
    "session behind a request's id": f"X-Request-Id: 5\nX-Session-Token: {RANDOM}",
    "id and key in base64": 'x = "'
    + base64.b64encode(f"{RANDOM[:20]}:{RANDOM[::-1]}".encode()).decode()
    + '"',
}


def _b64(text: str, charset: str = "utf-8") -> str:
    return base64.b64encode(text.encode(charset)).decode()


_PEM = "{0}ca.crt: |\n{0}  -----BEGIN CERTIFICATE-----\n{0}  MIIB\n{0}  -----END CERTIFICATE-----\n"
_WINDOWS = _b64("Tr0ub4dor&3Password", "utf-16-le")
_LOGIN = _b64(f"müller:{RANDOM[:24]}")
_SCOPED = _token(b'{"sub":"1234567890","name":"prod-admin","scope":"all"}')
_DOE = _token(b'{"sub":"1234567890","name":"John Doe","db_password":"S3cr3t!horse"}')
HEX64 = HEX + "9a4e07d2b85f13c6e0947ad1"
LOST = {
    "value behind a certificate in wide lines": (f"{_wide(CERTIFICATE)}\n    {RANDOM}", RANDOM),
    "wide value behind a certificate": (f"{_wide(CERTIFICATE)}\n    {(RANDOM * 4)[:100]}", (RANDOM * 4)[:100]),
    "wide lines of a private key": (_wide("MIIEvgIBADANBgkqhkiG9w0BAQEFAASC" + RANDOM * 12), RANDOM),
    "key behind its certificate in armour": (f"kind: Secret\ndata:\n  both: {(both := _b64('-----BEGIN CERTIFICATE-----' + chr(10) + 'MIIB' + chr(10) + '-----END CERTIFICATE-----' + chr(10) + 'key ' + RANDOM))}\n", both),
    "data behind a certificate": ("kind: Secret\nstringData:\n" + _PEM.format("  ") + "data:\n  db: aHVudGVyMmh1bnRlcjI=\n", "aHVudGVyMmh1bnRlcjI="),
    "data behind a certificate in an annotation": ("kind: Secret\nmetadata:\n  annotations:\n" + _PEM.format("    ") + "stringData:\n  db: correct-horse-9\n", "correct-horse-9"),
    "data before the kind": ("stringData:\n  db: correct-horse-9\n" + _PEM.format("  ") + "kind: Secret\n", "correct-horse-9"),
    "token with other claims": (f"token = '{_SCOPED}'", _SCOPED),
    "token with a password in it": (f"jwt = '{_DOE}'", _DOE),
    "key of Mega": (f'url = "https://mega.nz/file/AbCd1234#{RANDOM[:22]}"', RANDOM[:22]),
    "key of PrivateBin": (f"The key is at https://privatebin.net/?0a1b2c3d4e5f6071#{RANDOM}", RANDOM),
    "key of Send": (f"password is in https://send.vis.ee/download/ab12cd34ef/#{RANDOM[:22]}", RANDOM[:22]),
    "key of Bitwarden": (f"send: https://send.bitwarden.com/#{RANDOM}/{RANDOM[::-1]}", RANDOM),
    "key of Wormhole": (f'SHARE = "https://wormhole.app/9aZx#{RANDOM}"', RANDOM),
    "Windows' password": (f"<Password>\n<Value>{_WINDOWS}</Value>\n<PlainText>false</PlainText>\n</Password>", _WINDOWS),
    "Windows' password behind its form": (f"<Password>\n<PlainText>false</PlainText>\n<Value>{_WINDOWS}</Value>\n</Password>", _WINDOWS),
    "Windows' password without the word": (f"<AdministratorPassword>\n  <Value>{_b64('Adm1n-Winter24 Zürich', 'utf-16-le')}</Value>\n", _b64("Adm1n-Winter24 Zürich", "utf-16-le")),
    "login beyond ASCII": (f'x = "{_LOGIN}"', _LOGIN),
    "libpq": ("dsn: host=db password=lXykWZeiNNCi dbname=prod sslmode=require", "lXykWZeiNNCi"),
    "libpq with a word": ("dsn: host=db password=swordfish dbname=prod", "swordfish"),
    "settings on one line": ("password: lXykWZeiNNCi user: bob", "lXykWZeiNNCi"),
    "environment of a command": ("PGPASSWORD=ROnlSmytbxAk psql -h db", "ROnlSmytbxAk"),
    "brackets in a password": ('password = "Summer(2024)!"', "Summer(2024)!"),
    "brackets in another": ('password = "Rome(1492)x"', "Rome(1492)x"),
    "slash behind a password": ('password = "Tr0ub4dor/"', "Tr0ub4dor/"),
    "password like a path": ('password: "../Hx9!k"', "../Hx9!k"),
    "challenge of SCEP": (f'{{"type":"SCEP","name":"x","challenge":"{RANDOM}"}}', RANDOM),
    "secret mac": (f'secret mac="{RANDOM}"', RANDOM),
    "key behind mac": (f'mac="{RANDOM}"  # secret key of hawk', RANDOM),
    "row of a table": (f"user|n|token\nbob|1|{RANDOM}", RANDOM),
    "row with bars": (f"|id|api_token|\n|1|{RANDOM}|", RANDOM),
    "path with a secret": (f'webhook_secret_path = "/app/hooks/{RANDOM}"', RANDOM),
    "reference of 64 digits": (f'token_ref = "{HEX64}"', HEX64),
    "version of 64 digits": (f"signing_secret_version: {HEX64}", HEX64),
    "password of a database": ("kind: Secret\nstringData:\n  pw-db: hunter2!x\n", "hunter2!x"),
    "password of a user": ("kind: Secret\ndata:\n  pw_user: aHVudGU5\n", "aHVudGU5"),
    "login with a symbol": ("kind: Secret\nstringData:\n  mongo-user: hunte9!\n", "hunte9!"),
    "password under a digest's name": ("db_password_sha1: hunter2x9", "hunter2x9"),
    "salt of a digest": ('password_sha_salt = "hunter2x9"', "hunter2x9"),
    "digest in a comment": (f'x = "{RANDOM}"  # sha of it is elsewhere', RANDOM),
    "value under armour": (f'ssh: "-----BEGIN PUBLIC KEY-----"\nx = {RANDOM}', RANDOM),
    "value over armour": (f"x9 {RANDOM}\n-----END PUBLIC KEY-----", RANDOM),
    "angle early in a password": ('password = "ab<cd9!xK"', "ab<cd9!xK"),
    "comma in a setting": ("db:\n  password: P@ssw0rd,1\n  port: 5", "P@ssw0rd,1"),
    "apostrophe in a setting": ("DB_PASSWORD=it's-me-9\nX=1", "it's-me-9"),
    "words": ('def f():\n    password = "correct horse battery"', "correct horse battery"),
    "words with signs": ('"password": "S3cr3t Sauce",', "S3cr3t Sauce"),
    "password in a manual": ("Log in as `admin` with the password `hunter2`.", "hunter2"),
    "default of an option": ('p.add_argument("--password", type=str, default="hunter2")', "hunter2"),
    "option of helm": ("helm install x --set a.b=c,auth.rootPassword=hunter2 .", "hunter2"),
    "dollar in a password": ('<add key="DbPassword" value="Ca$hM0ney" />', "Ca$hM0ney"),
    "word under an account's name": ('def f():\n    dbPassword = "letmein"', "letmein"),
    "word with a sign": ('def f():\n    password = "Monkey!"', "Monkey!"),
    "digit in a word": ('def f():\n    password = "tr0ut.fishing"', "tr0ut.fishing"),
    "16 digits under salt": ("salt: 0a1b2c3d4e5f6071", "0a1b2c3d4e5f6071"),
    "urn": ('password = "urn:hunter2"', "urn:hunter2"),
    "argument of a call": ('User.objects.create_user("ann", "a@b.c", "hunter2x9")', "hunter2x9"),
    "login by place": ('client.login("ann", "tiger_1999")', "tiger_1999"),
    "password of a builder": ('user.name("ann").password("hunter2x9").build()', "hunter2x9"),
    "password that is checked": ("assert check_password('hunter2x9')", "hunter2x9"),
    "typed into a page": ("page.type('#password', 'hunter2x9')", "hunter2x9"),
    "sent to a field": ('passwordField.sendKeys("hunter2x9");', "hunter2x9"),
    "filled in": ("fill_in 'Password', with: 'hunter2x9'", "hunter2x9"),
    "or else": ("const x = process.env.DB_PASS || 'hunter2x9';", "hunter2x9"),
    "or else in Rust": ('env::var("DB_PASSWORD").unwrap_or("hunter2x9".into())', "hunter2x9"),
    "or else in Spring": ('@Value("${db.password:hunter2x9}")', "hunter2x9"),
    "or else in a shell": ('x="${PASSWORD:-hunter2x9}"', "hunter2x9"),
    "default of a field": ('password: str = Field(default="hunter2x9")', "hunter2x9"),
    "parameter of Bicep": ("param adminPassword string = 'hunter2x9'", "hunter2x9"),
    "parameter of Azure": ('"adminPassword": { "value": "hunter2x9" }', "hunter2x9"),
    "default of a block": ('variable "db_password" {\n  type = string\n  default = "hunter2x9"\n}', "hunter2x9"),
    "list of properties": ("<key>Password</key>\n<string>hunter2x9</string>", "hunter2x9"),
    "value under its element": ("<AdministratorPassword>\n  <Value>hunter2x9</Value>", "hunter2x9"),
    "name and value": ("env:\n  - name: DB_PASSWORD\n    value: hunter2x9", "hunter2x9"),
    "name and value on a line": ('{"key": "password", "value": "hunter2x9"}', "hunter2x9"),
    "name with another in it": ('administrator_login_password = "hunter2x9"', "hunter2x9"),
    "said of a password": ("Use `blue-horse-42` as the smtp password until then.", "blue-horse-42"),
    "password in bold": ("**Password:** hunter2x9", "hunter2x9"),
    "cell of a table": ("| staging | ftp pass | otter_2021 |", "otter_2021"),
    "field of a list": ("17,staging,admin_password,Tiger1973*,2025-01-04", "Tiger1973*"),
    "row of SQL": ("INSERT INTO users (name, password) VALUES ('ann', 'hunter2x9');", "hunter2x9"),
    "user of Oracle": ("CREATE USER ann IDENTIFIED BY hunter2x9;", "hunter2x9"),
    "header": ("curl -H 'X-AdminPassword: hunter2x9' https://a.b", "hunter2x9"),
    "chosen by its bearer": ('curl -H "Authorization: Bearer !KETTLE9795" https://a.b', "!KETTLE9795"),
    "login before an escaped sign": (r'$proxy = "socks://deploy:tr0ub4dor3\@proxy.corp:1080";', "tr0ub4dor3"),
    "parameter with signs": ("https://a.b/?page=2&user_password=Dr@g0N356&sort=asc", "Dr@g0N356"),
    "sign before a password": ('$Passwd = "*MOUNTAIN7063"', "*MOUNTAIN7063"),
    "option of htpasswd": ("htpasswd -bc .htpasswd ann hunter2x9", "hunter2x9"),
    "password of an archive": ("zip -P hunter2x9 a.zip b", "hunter2x9"),
    "said to chpasswd": ('echo "ann:hunter2x9" | chpasswd', "hunter2x9"),
    "rule of Redis": ("user ann on >hunter2x9 ~* +@all", "hunter2x9"),
}  # fmt: skip
"""(text, the value in it) of what stands beside a public form, or in one, and was passed over as such."""


def _listed(form: str, opens: str, closes: str) -> str:
    """Eight values in a program, no name before any."""
    return opens + "".join(form.format(n, value) for n, value in enumerate(VALUES)) + closes


VALUES = [RANDOM[n:] + RANDOM[:n] for n in range(8)]
REAL = {
    "list of keys": (_listed('    "{1}",\n', "import os\n\nAPI_KEYS = [\n", "]\n\ndef key(t):\n    return API_KEYS[t]\n"), VALUES),
    "table of tenants": (_listed('    "t{0}": "{1}",\n', "import os\n\nTENANTS = {\n", "}\n\ndef key(t):\n    return TENANTS[t]\n"), VALUES),
    "cases": (_listed("    case 'r{0}':\n      return '{1}';\n", "function keyFor(region) {\n  switch (region) {\n", "  }\n}\n"), VALUES),
    "constants": (_listed('  {0}("https://e{0}.corp.io", "{1}"),\n', "package a;\n\npublic enum Env {\n", "  ;\n  public String url() {\n    return url;\n  }\n}\n"), VALUES),
    "argument behind an id": (f'c = spotify.Client(client_id, "{RANDOM}")', [RANDOM]),
    "parameter id of a link": (f"url = 'https://app.corp.io/reset?id={RANDOM}'", [RANDOM]),
    "id with a word behind it": (f"  id: {RANDOM}  # api key of prod", [RANDOM]),
    "id alone": (f'"sts:ExternalId": "{RANDOM}"', [RANDOM]),
    "comparison": (f"""if req.args.get('k') == "{HEX[:32]}":""", [HEX[:32]]),
    "word in front of psk": ("wifipsk=tr0ub4dor9", ["tr0ub4dor9"]),
    "word in front of dsn": ('sqldsn = "app:Sw0rdfish9"', ["Sw0rdfish9"]),
    "word in front of auth": ("basicauth=Sw0rdfish9", ["Sw0rdfish9"]),
    "names run together": ("userauthtoken: hunter2x9", ["hunter2x9"]),
    "product's default": ("PGPASSWORD=postgres\n", ["postgres"]),
    "user's name": ("postgres://app:redis@prod-db.corp.io/app", ["redis"]),
    "company's name": ("ACME_DB_PASSWORD=acme\n", ["acme"]),
    "user of a command": ("curl -u swordfish:swordfish https://api.corp.io/v1", ["swordfish"]),
    "login of netrc": ("machine h.corp.io login deploy password deploy", ["deploy"]),
}  # fmt: skip
"""Real credentials of classes that one round of rules left untagged; whole files of many values are among them."""


@pytest.fixture(scope="module")
def scanner():
    return CredentialScanner()


@pytest.mark.parametrize("kind", NEITHER)
def test_public_forms_are_no_credentials(scanner, kind):
    assert not scanner.scan(f"a = 1\n{NEITHER[kind]}\nb = 2\n".encode())


@pytest.mark.parametrize("kind", BOTH)
def test_their_neighbours_still_are(scanner, kind):
    assert scanner.scan(f"a = 1\n{BOTH[kind]}\nb = 2\n".encode())


@pytest.mark.parametrize("kind", LOST)
def test_what_only_resembles_a_public_form_is_found(scanner, kind):
    text, value = LOST[kind]
    assert any(value.encode() in found.value for found in scanner.scan(f"a = 1\n{text}\nb = 2\n".encode()))


@pytest.mark.parametrize("kind", REAL)
def test_classes_that_may_hold_real_credentials_are_tagged(scanner, kind):
    """All of a list, too, whatever else the program holds."""
    text, values = REAL[kind]
    found = {one.value for one in scanner.scan(text.encode())}
    for value in values:
        assert any(value.encode() in one for one in found)


def test_random_values_are_neither_names_nor_placeholders_nor_text():
    """About one in 6,000 is a name; more than 12 of 20,000 has probability 5e-5. Text: none of 5,000 were."""
    draw = random.Random(16)
    letters = string.ascii_letters + string.digits
    values = ["".join(draw.choices(letters, k=20)).encode() for _ in range(20_000)]
    assert sum(map(is_identifier, values)) <= 12
    assert not any(map(is_placeholder, values)) and not any(map(is_everybodys, values[:500]))
    long = [base64.b64encode(draw.randbytes(300)) for _ in range(5_000)]
    assert sum(map(holds_text, long)) <= 10


def test_random_values_are_neither_names_of_resources_nor_in_camel_case():
    """None of 1,200,000 were; a rule by which one in 10,000 is passes with probability 0.02."""
    draw = random.Random(17)
    for size in (16, 24):
        for _ in range(20_000):
            value = "".join(draw.choices(string.ascii_letters + string.digits, k=size)).encode()
            assert not credential_names._is_in_camel_case(value)
            assert not credential_unnamed.is_name_of_a_resource(value)


def test_names_and_descriptions_of_any_length_take_linear_time():
    """Returns at all: an expression that splits a run of letters in every way takes years for these."""
    for token in (b"a" * 8000 + b"A-!", b"A" * 8000 + b"b!", b"aB" * 4000 + b"!", b"a1B2" * 2000 + b"!"):
        assert not is_identifier(token)
    for token in (b"key" * 21 + b"!", b"an" * 32, b"secret " * 9, b"my" * 31 + b"x!"):
        assert not is_placeholder(token)


def test_names_of_resources_and_the_login_of_oracles_manuals_are_public(scanner):
    scan = scanner.scan
    arn = b'"KmsKeyArn": "arn:aws:kms:us-west-2:123456789012:key/b0844d6c-1c5b-4b5c-bf42-bfc4772c6685"\n'
    assert scan(arn) == scan(b'u = "mysql+pymysql://scott:tiger@localhost/db"\n') == []
    assert scan(b'u = "mysql+pymysql://ada:tiger9xQ2@localhost/db"\n')


def _many(count: int, head: str = "") -> list[str]:
    """Values of one form, drawn; or ids that are counted up behind one head."""
    draw = random.Random(count)
    if head:
        return [f"{head}-{n}" for n in range(count)]
    return ["".join(draw.choices(string.ascii_letters + string.digits, k=28)) for _ in range(count)]


def _file(values: list[str]) -> bytes:
    return "".join(f'row = "{value}"\n' for value in values).encode()


def test_many_values_of_one_form_are_data_unless_a_name_tells_of_one(scanner):
    """A file of ids or parts of an attachment; with one under a telling name it may be one of keys."""
    many, few = _many(credential_unnamed.MANY), _many(credential_unnamed.MANY - 1)
    assert not scanner.scan(_file(many))
    assert len(scanner.scan(_file(few))) == len(few)
    assert len(scanner.scan(_file(many) + f'api_key = "{RANDOM}"\n'.encode())) == len(many) + 1


@pytest.mark.parametrize(
    ("above", "row"),
    [
        ("host,token\n", "h{n},{value}\n"),
        ("API_KEYS = {{\n", '    "user{n}": "{value}",\n'),
        ("", "{value}\n"),
    ],
    ids=["head of a table", "name of a mapping", "a value a line"],
)
def test_many_values_are_credentials_where_a_word_above_tells_or_each_is_a_line(scanner, above, row):
    values = _many(credential_unnamed.MANY + 10)
    text = above + "".join(row.format(n=n, value=value) for n, value in enumerate(values))
    found = {one.value.decode() for one in scanner.scan(text.encode())}
    assert set(values) <= found


def test_ids_that_are_counted_up_are_data(scanner):
    assert not scanner.scan(_file(_many(credential_unnamed.COUNTED, RANDOM[:20])))
    assert len(scanner.scan(_file(_many(credential_unnamed.COUNTED - 1, RANDOM[:20])))) == 4
    tokens = [f"acme_production_{value}" for value in _many(8)]
    assert len(scanner.scan(_file(tokens))) == 8  # of one prefix, drawn one by one


def test_a_few_tokens_that_begin_alike_are_credentials_where_each_is_a_line_or_a_word_above_tells(scanner):
    """Macaroons of one service begin with its name, encoded."""
    tokens = _many(credential_unnamed.COUNTED, RANDOM[:20])
    for text in ("\n".join(tokens), "tokens:\n" + _file(tokens).decode()):
        assert set(tokens) <= {one.value.decode() for one in scanner.scan(text.encode())}


def test_the_next_version_is_judged_by_the_words_that_are_near_then():
    """A comment comes and goes, far from the element that it is about."""
    rows, comment = f'rows = [(1, "{RANDOM}")]\n', "# each row is a session token\n"
    far = "x = 1\n" * 10
    texts = [text.encode() for text in (rows + far, rows + far + comment, rows + comment + far, rows + far)]
    found = [len(rows) for rows in credentials._Look().follow(texts, [None, 0, 1, 2])]
    assert found == [len(list(credentials._Look()(text))) for text in texts] == [0, 1, 1, 0]


def test_wide_lines_of_encoded_data_are_a_block(scanner):
    """All but its ends; a value between lines of other kinds is none."""
    lines = ["".join(random.Random(n).choices(string.ascii_letters + string.digits, k=256)) for n in range(9)]
    found = scanner.scan(("a: 1\n" + "\n".join(lines) + "\n").encode())
    assert {one.value.decode() for one in found} <= {lines[0], lines[-1]}
    assert len(scanner.scan(f"a: 1\n{lines[0]}\nb: 2\n".encode())) == 1


def test_the_next_version_of_a_file_of_ids_is_looked_at_as_a_whole_file(scanner):
    """One id less, and those that are left may be credentials."""
    many = _many(credential_unnamed.MANY)
    texts = [_file(many), _file(many[1:]), _file(many)]
    assert [len(rows) for rows in credentials._Look().follow(texts, [None, 0, 1])] == [0, len(many) - 1, 0]
