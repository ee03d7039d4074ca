"""Credentials where tools keep them: the lines of their own files, told by their form, whatever the file is called.

Each is a gate (hyperscan, on the whole content), a pattern (Python's `re`, bounded, on the lines that the gate names)
and what the whole content must hold besides. Groups are the values. Sources: the tools' manuals.
"""

# ruff: noqa: E501  (tables and patterns: one row a form)

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from hush_core.secrets.detectors.credential_chosen import SAYS_PASSWORD, is_chosen
from hush_core.secrets.detectors.credential_names import RUN, tells, words
from hush_core.secrets.detectors.credential_public import SHOWN, is_placeholder, is_shown, says_placeholder
from hush_core.secrets.detectors.credential_randomness import looks_made, surprise

FILE_SECRET, FILE_PASSWORD = "hush.file-secret", "hush.file-password"
ENCODED_SECRET, ENCODED_PASSWORD = "hush.encoded-login", "hush.encoded-login-password"


@dataclass(frozen=True)
class Place:
    """Where a kind of file holds a value. with_: what the content must hold somewhere; encoded: base64 of it; chosen: only what a
    person may have chosen (`is_chosen`)."""

    pattern: bytes
    gate: bytes = b""
    with_: bytes = b""
    encoded: bool = False
    secret: bool = False
    after_name: bool = False
    lined: bool = False
    chosen: bool = False


_V = rb"([^\s\"'`<>;,]{3,256})"
_Q = rb"[\"']?([^\s\"'`<>;,]{3,256})[\"']?"
_KEY64 = rb"([A-Za-z0-9+/]{42,43}=)"
_HUMAN = rb"(?i:pass(?:w(?:or)?d|phrase)?|pwd)"
_WORD = rb"(?:pass(?:w(?:or)?d|phrase)?|pwd|secret|token|key)"
PLACES = (
    # ftp(1), curl: .netrc
    Place(rb"(?:(?:^|[ \t])machine[ \t]+\S{1,255}|^[ \t]*default)(?:[ \t]+(?:login|account|user)[ \t]+\S{1,128}){0,2}[ \t]+password[ \t]+(\S{1,256})",
          rb"(?:machine[ \t]+\S{1,128}|default)[ \t][^\n]{0,128}password[ \t]+\S"),
    Place(rb"^[ \t]*(?:login[ \t]+\S{1,128}[ \t]+)?password[ \t]+(\S{1,256})[ \t\r]*$", rb"^[ \t]*(?:login[ \t]+\S{1,128}[ \t]+)?password[ \t]+\S", rb"(?m)^[ \t]*(?:machine[ \t]+\S|default\b)"),
    # PostgreSQL: .pgpass
    Place(rb"^[A-Za-z0-9_.*/-]{1,255}:(?:[0-9]{1,5}|\*):[A-Za-z0-9_.*-]{1,64}:[A-Za-z0-9_.*@-]{1,64}:([^\s:][^\r\n]{1,255}?)[ \t\r]*$",
          rb"^[A-Za-z0-9_.*/-]{1,128}:(?:[0-9]{1,5}|\*):[A-Za-z0-9_.*-]{1,64}:[A-Za-z0-9_.*@-]{1,64}:[^\s:]"),
    # docker's config.json, npm's and podman's, HTTP basic authentication
    Place(rb"[\"']?_?auth[\"']?[ \t]*[:=][ \t]*[\"']?([A-Za-z0-9+/]{8,512}={0,2})(?![A-Za-z0-9+/=])", rb"auth[\"']?[ \t]*[:=][ \t]*[\"']?[A-Za-z0-9+/]{8}", encoded=True),
    Place(rb"(?i:basic)[ \t]+([A-Za-z0-9+/_-]{8,512}={0,2})(?![A-Za-z0-9+/=])", rb"[Bb][Aa][Ss][Ii][Cc][ \t]+[A-Za-z0-9+/_-]{8}", encoded=True),
    Place(rb"(?i:bearer|token|apikey|key|digest)[ \t]+([A-Za-z0-9+/_.~-]{20,4096}={0,2})(?![A-Za-z0-9+/=])", rb"(?i:authorization|x-api-key|x-auth)[^\n]{0,32}(?i:bearer|token|apikey|key)[ \t]+[A-Za-z0-9+/_.~-]{20}", secret=True),
    Place(rb"(?i:x-[a-z0-9-]{0,24}(?:key|token|auth|secret)|private-token|api-key|apikey|authorization)[\"']?[ \t]*[:,=][ \t]*[\"']?([A-Za-z0-9+/_.~-]{12,4096}={0,2})(?![A-Za-z0-9+/=])",
          rb"(?i:x-[a-z0-9-]{0,24}(?:key|token|auth|secret)|private-token|api-key|apikey|authorization)[\"']?[ \t]*[:,=][ \t]*[\"']?[A-Za-z0-9+/_.~-]{12}", after_name=True),
    Place(rb"(?i)(?::_(?:authToken|password|auth)|^BUNDLE_[A-Z0-9_]{1,64}:[ \t]*[\"']?[^\s:\"']{1,64}|^rootpw[ \t]+--plaintext)(?:[ \t]*=[ \t]*|:|[ \t])[\"']?([^\s\"'$]{3,512})",
          rb"(?i::_(?:authToken|password|auth)[ \t]*=[ \t]*[\"']?[^\s\"'$]{3}|^BUNDLE_[A-Z0-9_]{1,64}:[ \t]*[\"']?[^\s:\"']{1,64}:[^\s]{3}|^rootpw[ \t]+--plaintext[ \t][^\s]{3})"),
    # ADO.NET, ODBC, JDBC, Azure: name=value pairs
    Place(rb"(?i)(?:[;?&\"' \t{]|^)[ \t]*(?:password|pwd|passwd|accountkey|sharedaccesskey|sharedsecret(?:value)?|trustStorePassword|keyStorePassword|sslpassword|accesskey|secretkey|primarykey)[ \t]*=[ \t]*"
          rb"[{\"']?([^;&\"'\s<>{}]{2,256})", rb"(?i:[a-z][a-z0-9 _]{1,40}=[^;\n]{0,256}[;&?][ \t]*(?:password|pwd|passwd|accountkey|sharedaccesskey|sharedsecret)[ \t]*=|(?:password|pwd|accountkey|sharedaccesskey)[ \t]*=[^;&\n]{2,128}[;&][ \t]*[a-z][a-z0-9 _]{1,40}=)"),
    Place(rb"(?i)jdbc:oracle:[a-z]{1,8}:[^\s/\"']{1,64}/([^\s@\"']{2,128})@", rb"(?i:jdbc:oracle:[a-z]{1,8}:[^\s/\"']{1,64}/[^\s@\"']{2,128}@)"),
    Place(rb"(?i)(?:sqlplus|sqlldr|exp|imp|rman target)[ \t]+[\"']?[A-Za-z0-9_]{1,30}/([^\s@\"'/]{2,64})@", rb"(?i:sqlplus|sqlldr|rman target)[ \t]+[\"']?[A-Za-z0-9_]{1,30}/[^\s@\"'/]{2,64}@"),
    Place(rb"(?i)DriverManager\.getConnection\([^\n]{1,200},[ \t]*\"[^\"\n]{1,64}\",[ \t]*\"([^\"\n]{1,128})\"", rb"DriverManager\.getConnection\([^\n]{1,200},[ \t]*\"[^\"\n]{1,64}\",[ \t]*\""),
    # URLs with a password, in any scheme
    Place(rb"[A-Za-z][A-Za-z0-9+.-]{0,24}://[^\s:/@\"'`<>\[\]{}()]{0,128}:([^\s\"'`<>/]{3,256})@(?=[A-Za-z0-9\[_$%{.-])", rb"[A-Za-z0-9]://[^\s:/@\"'`<>]{0,128}:[^\s\"'`<>/]{3,256}@[A-Za-z0-9\[_$%{.-]"),
    Place(rb"(?i:[?&;])(?:access_?token|token|api_?key|key|secret|client_secret|password|pwd|passwd|auth|sig|signature|code|subscription-key|X-Amz-Signature|X-Amz-Security-Token|sas)=([A-Za-z0-9+/_.~%=-]{8,4096})",
          rb"[?&;](?i:[a-z_]{0,24}(?:_pass|pass|_password|_token|_secret|_key)|access_?token|token|api_?key|key|secret|client_secret|password|pwd|passwd|auth|sig|signature|code|subscription-key|X-Amz-Signature|X-Amz-Security-Token|sas)=[A-Za-z0-9+/_.~%=-]{8}", after_name=True),
    # shells: options with a password
    Place(rb"(?i)(?:^|[ \t\"'\[(,])--?[a-z0-9-]{0,32}" + _WORD + rb"(?![a-z]*-?(?:word|store|opt|out|form|alg|size|gen|file|type|ring|server|path|dir|url)\b)[a-z0-9-]{0,12}(?:[ \t]+|=|[\"'],[ \t]*[\"'])[\"']?([^\s\"'`<>;|&$(){}\[\]-][^\s\"'`<>;|&(){}]{3,256})",
          rb"(?i:--?[a-z0-9-]{0,32}" + _WORD + rb"[a-z0-9-]{0,12}(?:[ \t]+|=|[\"'],[ \t]*[\"'])[\"']?[^\s\"'`<>;|&$(){}\[\]-][^\s\"'`<>;|&(){}]{3})", after_name=True),
    Place(rb"(?:^|[ \t])(?:-u|--user|--proxy-user)[ =]?[ \t]*[\"']?[^\s:\"'$]{1,128}:([^\s\"'$][^\s\"']{1,256})", rb"(?:-u|--user|--proxy-user)[ =]?[ \t]*[\"']?[^\s:\"'$]{1,128}:[^\s\"'$]{2}", rb"\b(?:curl|wget|http|https)\b"),
    Place(rb"(?:sshpass|mysql(?:dump|admin)?|mongo(?:dump|restore)?|docker login|podman login|7z|zip|redis-cli|ldapsearch|ldapadd|az|oc login|psql|mysqlimport|mariadb)\b[^\n|;]{0,160}?[ \t]-[paPw][ =]?[\"']?([^\s\"'`<>;|&$(){}\[\]-][^\s\"'`<>;|(){}]{3,128})",
          rb"(?:sshpass|mysql(?:dump|admin)?|mongo(?:dump|restore)?|docker login|podman login|redis-cli|ldapsearch|ldapadd|mariadb)\b[^\n|;]{0,160}[ \t]-[paPw][ =]?[\"']?[^\s\"'`<>;|&$(){}\[\]-]{4}", after_name=True),
    Place(rb"(?i)^[ \t]*(?:set(?:[ \t]+-[a-z]{1,4}){0,2}|setenv|ARG|ENV|setx|SetEnv|env)[ \t]+\$?\w{0,48}(?:pass(?:w(?:or)?d)?|pwd|secret|token|key|psk|auth)\w{0,16}[ \t]+[\"']?([^\s\"'=;$]{4,512})",
          rb"(?i:^[ \t]*(?:set(?:[ \t]+-[a-z]{1,4}){0,2}|setenv|ARG|ENV|setx|SetEnv|env)[ \t]+\$?\w{0,48}(?:pass(?:w(?:or)?d)?|pwd|secret|token|key|psk|auth)\w{0,16}[ \t]+[\"']?[^\s\"'=;$]{4})", after_name=True),
    Place(rb"(?i)ConvertTo-SecureString[ \t]+(?:-String[ \t]+)?(?:'([^'\n]{4,128})'|\"([^\"$\n]{4,128})\")", rb"(?i:ConvertTo-SecureString)[ \t]+[^\n]{0,16}[\"'][^\"'$\n]{4}"),
    # SQL
    Place(rb"(?i)(?:identified[ \t]+(?:with[ \t]+[a-z0-9_\"']{1,40}[ \t]+)?(?:by|as)(?:[ \t]+password)?|(?:with[ \t]+|encrypted[ \t]+|set[ \t]+)password(?:[ \t]+for[ \t]+[^\n=]{1,80})?[ \t]*=?|(?<![A-Za-z_.])password[ \t]*\((?=[NE]?['\"][^'\"\n]{3,256}['\"]\)))[ \t]*(?:password\()?[NE]?['\"]([^'\"\n]{3,256})['\"]",
          rb"(?i:identified[ \t]+(?:with[ \t]+[a-z0-9_\"']{1,40}[ \t]+)?(?:by|as)(?:[ \t]+password)?|(?:with|encrypted|set)[ \t]+password|password[ \t]*\()[^\n]{0,80}['\"][^'\"\n]{3}"),
    # settings of services whose word stands before a blank
    Place(rb"(?i)^[ \t]*(?:requirepass|masterauth|masteruser|rcon_password|sv_password|bindpw|rootpw|rootbindpw|userpw|credentials|auth_?pass|auth-pass|dbpasswd|dbpassword|password|passwd|passphrase|secret|psk|pass|authtoken|auth_token|license_?key|key|token|mailhub_?pass|AuthPass|SMTPPass|mail_password"
          rb"|snmp-server community|rocommunity|rwcommunity|community|enable (?:secret|password)|key-string|pre-shared-key|tacacs-server key|radius-server key|wpa_passphrase|sae_password|wep_key[0-9]|kerberos_password|userid_pass|cookie|stats auth [^\s:]{1,64}:|auth [^\s]{1,64}|user_?pass)[ \t]+(?:[057][ \t]+)?"
          rb"[\"']?([^\s\"'=:{(\[]{3,256})[\"']?[ \t]*;?[ \t\r]*$",
          rb"(?i:^[ \t]*(?:requirepass|masterauth|rcon_password|sv_password|bindpw|rootpw|rootbindpw|userpw|auth_?pass|auth-pass|dbpasswd|dbpassword|password|passwd|passphrase|secret|psk|pass|authtoken|auth_token|license_?key|mailhub_?pass|AuthPass|SMTPPass|mail_password"
          rb"|snmp-server community|rocommunity|rwcommunity|enable (?:secret|password)|key-string|pre-shared-key|tacacs-server key|radius-server key|wpa_passphrase|sae_password|wep_key[0-9]|stats auth [^\s:]{1,64}:)[ \t]+(?:[057][ \t]+)?[\"']?[^\s\"'=:{(\[]{3})", after_name=True),
    Place(rb"(?i)^[ \t]*(?:username|user)[ \t]+\S{1,64}[ \t]+(?:privilege[ \t]+[0-9]{1,2}[ \t]+)?(?:password|secret)[ \t]+(?:[05789][ \t]+)?(\S{3,256})", rb"(?i:^[ \t]*(?:username|user)[ \t]+\S{1,64}[ \t]+(?:privilege[ \t]+[0-9]{1,2}[ \t]+)?(?:password|secret)[ \t]+\S)"),
    Place(rb"(?<!:):[ \t]*(?:PSK|XAUTH|EAP|NTLM|PIN)[ \t]+[\"']?([^\s\"']{3,256})", rb":[ \t]*(?:PSK|XAUTH|EAP|NTLM)[ \t]+[\"']?[^\s\"']{3}"),
    Place(rb"^[\"']?[A-Za-z0-9_.@\\*-]{1,64}[\"']?[ \t]+(?:\*|[A-Za-z0-9_-]{1,32})[ \t]+[\"']?([^\s\"'*]{3,128})[\"']?[ \t]+(?:\*|[0-9.]{7,15})[ \t\r]*$", lined=True),
    Place(rb"(?i)^(?:userPassword|olcRootPW|unicodePwd|sambaNTPassword|sambaLMPassword|krbPrincipalKey)::?[ \t]*(\S{3,512})", rb"(?i:^(?:userPassword|olcRootPW|unicodePwd|sambaNTPassword|sambaLMPassword|krbPrincipalKey)::?[ \t]*\S{3})"),
    # Postfix, Exim: host user:password
    Place(rb"^\[?(?:[A-Za-z0-9*-]{1,63}\.){1,8}[A-Za-z0-9-]{1,63}\]?(?::[0-9]{2,5})?[ \t]+[^\s:]{1,128}:([^\s:]\S{2,127})[ \t\r]*$", lined=True),
    # shadow(5), smbpasswd
    Place(rb"^[a-z_][a-z0-9_.-]{0,31}:([^\s:*!]{8,200}):[0-9]{0,6}:[0-9]{0,6}:[0-9]{0,6}:", lined=True),
    Place(rb"^[A-Za-z0-9_.$-]{1,64}:[0-9]{1,10}:([0-9A-FX]{32}:[0-9A-F]{32}):", lined=True),
    Place(rb"^[A-Za-z0-9_.@-]{1,64}:([./A-Za-z0-9]{13}|\{SHA\}\S{28}|\$\S{20,200})[ \t\r]*$", lined=True),
    Place(rb"^[^\s:]{1,64}:[^\n:]{1,64}:([0-9a-f]{32})[ \t\r]*$", lined=True),
    # XML: <server><password>x</password>, <add key="…" value="…"/>, FileZilla, plist
    Place(rb"(?i)<(?:[A-Za-z0-9]{1,16}[:.])?(?:[A-Za-z0-9_.-]{0,32}(?:pass(?:w(?:or)?d|phrase)?|pwd|secret|token|api-?key|license-?key|private-?key|authkey|credential))[0-9]{0,2}(?:[ \t][^<>\n]{0,128})?>(?:<!\[CDATA\[)?[ \t]*([^<\s\]]{3,512})[ \t]*(?:\]\]>)?</",
          rb"(?i:<(?:[A-Za-z0-9]{1,16}[:.])?[A-Za-z0-9_.-]{0,32}(?:pass(?:w(?:or)?d|phrase)?|pwd|secret|token|api-?key|license-?key|private-?key|authkey|credential)[0-9]{0,2}(?:[ \t][^<>\n]{0,128})?>(?:<!\[CDATA\[)?[ \t]*[^<\s\]]{3})"),
    Place(rb"(?i)(?:key|name|id|property|param(?:eter)?|field|option)[ \t]*=[ \t]*[\"'][^\"'\n]{0,64}(?:pass(?:w(?:or)?d|phrase)?|pwd|secret|token|key|credential|seed|salt|psk|dsn|cookie|auth)[0-9]{0,2}[\"'][^<>\n]{0,64}?(?:value|default|content)[ \t]*=[ \t]*[\"']([^\"'\s]{3,512})[\"']",
          rb"(?i:(?:key|name|id|property|param(?:eter)?|field|option)[ \t]*=[ \t]*[\"'][^\"'\n]{0,64}(?:pass(?:w(?:or)?d|phrase)?|pwd|secret|token|key|credential|seed|salt|psk|dsn|cookie|auth)[0-9]{0,2}[\"'][^<>\n]{0,64}(?:value|default|content)[ \t]*=[ \t]*[\"'][^\"'\s]{3})", after_name=True),
    Place(rb"(?i)(?:key|name|id)[ \t]*=[ \t]*[\"'][^\"'\n]{0,64}(?:pass(?:w(?:or)?d|phrase)?|pwd|secret|token|key|credential|seed|salt|psk|dsn|cookie|auth)[0-9]{0,2}[\"'][^<>\n]{0,64}>[ \t]*([^<\s]{3,512})[ \t]*</",
          rb"(?i:(?:key|name|id)[ \t]*=[ \t]*[\"'][^\"'\n]{0,64}(?:pass(?:w(?:or)?d|phrase)?|pwd|secret|token|key|credential|seed|salt|psk|dsn|cookie|auth)[0-9]{0,2}[\"'][^<>\n]{0,64}>[ \t]*[^<\s]{3,256}[ \t]*</)", after_name=True),
    # WireGuard, JSON Web Keys, PuTTY, Ansible, WordPress
    Place(rb"(?i)(?:PrivateKey|PresharedKey|private_key|preshared_key)[ \t\"']*[=:][ \t\"']*" + _KEY64, rb"(?i:PrivateKey|PresharedKey|private_key|preshared_key)[ \t\"']*[=:][ \t\"']*[A-Za-z0-9+/]{42}", secret=True),
    Place(rb"[\"'](?:d|p|q|dp|dq|qi|k)[\"'][ \t]*:[ \t]*[\"']([A-Za-z0-9_-]{16,2048})[\"']", rb"[\"'](?:d|p|q|dp|dq|qi|k)[\"'][ \t]*:[ \t]*[\"'][A-Za-z0-9_-]{16}", rb"[\"']kty[\"']", secret=True),
    Place(rb"define\([ \t]*['\"][A-Z_]{0,32}(?:PASSWORD|KEY|SALT|SECRET|TOKEN)[A-Z_]{0,16}['\"][ \t]*,[ \t]*(?:'([^'\n]{3,256})'|\"([^\"\n]{3,256})\")", rb"define\([ \t]*['\"][A-Z_]{0,32}(?:PASSWORD|KEY|SALT|SECRET|TOKEN)[A-Z_]{0,16}['\"][ \t]*,[ \t]*['\"][^'\"\n]{3}"),
    Place(rb"(?i)(?:mnemonic|seed(?:[ _-]?phrase)?|recovery(?:[ _-]?phrase)?)[\"' ]{0,3}[:=,>][ \t]*[\"']?((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})", rb"(?i:mnemonic|seed|recovery)[^\n]{0,24}[a-z]{3,8}[ ,]{1,2}(?:[a-z]{3,8}[ ,]{1,2}){8}", secret=True),
    # passwords with signs in them that end a value elsewhere, alone behind their name; with blanks, in quotes; in manuals; as defaults
    Place(rb"^[ \t]*(?:-[ \t]+)?(?:export[ \t]+|set[ \t]+|ENV[ \t]+)?[\"']?[\w.-]{0,40}" + _HUMAN + rb"[\"']?[ \t]*(?:=|:)[ \t]*([^\s\"'`<>;,(){}\[\]$=][^\s\"`]{4,63})[ \t\r]*$",
          rb"^[ \t]*(?:-[ \t]+)?(?:export[ \t]+|set[ \t]+|ENV[ \t]+)?[\"']?[\w.-]{0,40}" + _HUMAN + rb"[\"']?[ \t]*(?:=|:)[ \t]*[^\s\"'`<>;,(){}\[\]$=][^\s\"`]{0,62}[<>;,(){}\[\]'][^\s\"`]{0,62}[ \t\r]*$", chosen=True),
    Place(_HUMAN + rb"[\"']?[ \t]*(?:=>|:=|=|:)[ \t]*(?:\"([^\s\"\\]{1,32}(?: [^\s\"\\]{1,32}){1,5})\"|'([^\s'\\]{1,32}(?: [^\s'\\]{1,32}){1,5})')[ \t]*[,;)}]{0,3}[ \t\r]*$",
          _HUMAN + rb"[\"']?[ \t]*(?:=>|:=|=|:)[ \t]*[\"'][^\s\"'\\]{1,32} [^\s\\]", chosen=True),
    Place(rb"(?i:password|passphrase|passwd)[ \t]+(?:(?:is|of|to|as)[ \t]+)?`([^`\s]{5,64})`", rb"(?i:password|passphrase|passwd)[ \t]+(?:(?:is|of|to|as)[ \t]+)?`[^`\s]{5}", chosen=True),
    Place(rb"[\"'][\w.-]{0,40}" + _HUMAN + rb"[\"'],[ \t]*(?:[\w]{1,12}[ \t]*=[ \t]*[^,\n]{1,40},[ \t]*)?(?:default[ \t]*[=:][ \t]*)?[\"']([^\s\"'\\]{5,64})[\"'][ \t]*[,)]",
          rb"[\"'][\w.-]{0,40}" + _HUMAN + rb"[\"'],[ \t]*(?:[\w]{1,12}[ \t]*=[ \t]*[^,\n]{1,40},[ \t]*)?(?:default[ \t]*[=:][ \t]*)?[\"'][^\s\"'\\]{5}", chosen=True),
    Place(rb"--set(?:-string)?[ =][\"']?(?:[^\s,=\"']{1,80}=[^\s,]{0,80},){0,8}[\w.-]{0,60}" + _HUMAN + rb"=([^\s,\"'`<>;|&$(){}]{5,64})", rb"--set(?:-string)?[ =][^\n]{0,300}" + _HUMAN + rb"=[^\s,\"'`<>;|&$(){}]{5}", chosen=True),
    # calls that take user and password
    Place(rb"(?i)(?:\.|\b)(?:login|authenticate|connect|auth|basicAuth|basic_auth|setBasicAuth|signIn|logon|credentials|PasswordAuthentication|NetworkCredential|HTTPBasicAuth|UsernamePasswordCredentials|setCredentials|UserCredentials)\([ \t]*[^\n]{0,64}?[\"'][^\"'\n]{1,64}[\"'],[ \t]*[\"']([^\"'\s]{4,128})[\"']",
          rb"(?i:login|authenticate|connect|auth|signIn|logon|credentials|PasswordAuthentication|NetworkCredential)\([ \t]*[^\n]{0,64}[\"'][^\"'\n]{1,64}[\"'],[ \t]*[\"'][^\"'\s]{4,128}[\"']", after_name=True),
)  # fmt: skip
_KUBERNETES = re.compile(rb"(?m)^[ \t\"'{]*kind[\"']?:[ \t]*[\"']?Secret\b")
_DATA = re.compile(rb"(?m)^([ \t]*)[\"']?(stringData|data)[\"']?:[ \t{]*\r?$")
_ENTRY = re.compile(
    rb"[ \t]+[\"']?[A-Za-z0-9_.-]{1,253}[\"']?:[ \t]*[\"']?([^\s\"'#|>{]{3,8192})[\"']?,?[ \t\r]*$"
)
KUBERNETES_GATE = rb"kind[\"']?:[ \t]*[\"']?Secret[\"'\s]"
_TEMPLATE = re.compile(
    rb"\$[({]|(?<![A-Za-z0-9])\$[A-Za-z_]\w*\\?$|\$[A-Z_]{2,}\\?$|\{\{|%\(|^%[sdrv]|<%|^<|^\*+$|^[xX.]+$|^@|\{[A-Za-z_.0-9]*\}|^%|\.\.\.|^urn:(?:uuid:|(?:[\w.-]+[:/])*[A-Za-z_.-]*$)|^`[A-Za-z_][\w.-]*`$"
)
_PLACEHOLDER = re.compile(
    rb"(?i)(?:passw(?:or)?d|pass|pwd|passwd|secret|token|user|guest|root|key|none|null|true|false|nil|your.*|my.?pass(?:word)?|xxx.*|\*+|string|str|required|optional|example|changeme|hash|value|self|int|text|bytes|bool|env|prompt|password_?here|test|(?:my|fake|dummy|sample)[_-]?(?:secret|password|pass|token|key|pwd)|rsa:[0-9]+|(?:pass|env|file|fd):.*)"
)


def lined_files(content: bytes) -> Iterator[int]:
    """Numbers of the places whose form two of the first lines have, comments left out (or the only one)."""
    head = [
        line
        for line in content[:2048].split(b"\n")[:24]
        if line.strip() and not line.lstrip().startswith((b"#", b";"))
    ][:4]
    if not head or max(map(len, head)) > 400:
        return
    if not any(_lined().match(line) for line in head):
        return
    for number, place in enumerate(PLACES):
        if place.lined:
            pattern = _pattern(number)
            if sum([pattern.match(line) is not None for line in head]) >= min(2, len(head)):
                yield number


def in_files(
    content: bytes, number: int, lines: list[tuple[int, int]], *, alone: bool = False
) -> Iterator[tuple[str, int, int]]:
    """Values of PLACES[number] on the lines that its gate names.

    alone: also where the content lacks what it must hold besides, as another version of it may have that.
    """
    place, pattern = PLACES[number], _pattern(number)
    if place.with_ and not alone and not re.search(place.with_, content):
        return
    for first, last in lines:
        for match in pattern.finditer(content, first, last):
            group = match.lastindex or 1
            value, (start, end) = match[group], match.span(group)
            if _TEMPLATE.search(value) or _PLACEHOLDER.fullmatch(value) or is_placeholder(value):
                continue
            if not place.secret and (
                _SELECTOR.fullmatch(value) or _stands_before(content, first, start, value)
            ):
                continue
            if not place.secret and _SENTENCE.match(value) and _GOES_ON.match(content, end, last):
                continue
            if is_shown(content[max(first, start - SHOWN) : start]) or says_placeholder(value):
                continue
            if place.chosen:
                if is_chosen(value):
                    yield FILE_PASSWORD, start, end
            elif place.encoded:
                rule = _encoded(value)
                if rule:
                    yield rule, start, end
            elif place.secret or looks_made(value):
                yield FILE_SECRET, start, end
            elif (
                not place.after_name
                or _dense(value)
                or (SAYS_PASSWORD.search(content, match.start(), start) and is_chosen(value))
            ):
                yield FILE_PASSWORD, start, end


def kubernetes(content: bytes) -> Iterator[tuple[str, int, int]]:
    """Every value under `data` and `stringData` of a manifest with `kind: Secret`."""
    if not _KUBERNETES.search(content):
        return
    documents = [match.start() for match in _DOCUMENT.finditer(content)]
    for block in _DATA.finditer(content):
        begin, end = _document(documents, block.start(), len(content))
        if not _KUBERNETES.search(content, begin, end):
            continue
        at, indent = block.end() + 1, len(block[1])
        while at < len(content):
            end = content.find(b"\n", at)
            end = len(content) if end < 0 else end
            line = content[at:end]
            if line.strip() and len(line) - len(line.lstrip()) <= indent:
                break
            match = _ENTRY.match(line) if len(line) < 16_384 else None
            if (
                match
                and not _CERTIFICATE.match(line)
                and not _nothing(line, match[1], encoded=block[2] == b"data")
            ):
                rule = (
                    (_encoded(match[1], pair=False) or FILE_PASSWORD)
                    if block[2] == b"data"
                    else (FILE_SECRET if looks_made(match[1]) else FILE_PASSWORD)
                )
                yield rule, at + match.start(1), at + match.end(1)
            at = end + 1


_DOCUMENT = re.compile(rb"(?m)^(?:---(?:\s|$)|[ \t]*```)")
_LOGIN_NAME = re.compile(
    rb"(?i)[ \t]+[\"']?[a-z0-9_.-]{0,64}(?:user(?:name)?|login|email|host(?:name)?|port|db|database)[\"']?:"
)


_CERTIFICATE = re.compile(
    rb"[ \t]+[\"']?(?:[\w.-]{0,64}\.(?:crt|cer|ca)|ca|certificate-authority-data)[\"']?:"
)
"""Certificates are for all to see."""
_PLAIN_NAME = re.compile(rb"[A-Za-z0-9_.@:/-]+\s*")


def _document(starts: list[int], at: int, size: int) -> tuple[int, int]:
    """From where to where the document of a file goes that holds a place: between `---`, or the fences of a manual."""
    n = bisect_right(starts, at)
    return starts[n - 1] if n else 0, starts[n] if n < len(starts) else size


def _nothing(line: bytes, value: bytes, *, encoded: bool) -> bool:
    """Whether an entry is a template, a placeholder, or a short plain name under a name that says it is one."""
    if _TEMPLATE.search(value) or is_placeholder(value) or says_placeholder(value):
        return True
    name = _LOGIN_NAME.match(line)
    if name is None or len(value) >= 12 or any(map(tells, words(name[0]))):
        return False
    try:
        plain = base64.b64decode(value, validate=True) if encoded else value
    except (binascii.Error, ValueError):
        return False
    return _PLAIN_NAME.fullmatch(plain) is not None


_PUTTY = re.compile(rb"(?m)^Private-Lines: [0-9]{1,4}\r?\n((?:[A-Za-z0-9+/=]{1,80}(?:\r?\n|\Z)){1,400})")
PUTTY_GATE = rb"^Private-Lines: [0-9]"


def putty(content: bytes) -> Iterator[tuple[str, int, int]]:
    """The private part of PuTTY's key files."""
    for match in _PUTTY.finditer(content):
        yield "hush.putty-private-key", match.start(1), match.start(1) + len(match[1].rstrip())


def alone(content: bytes) -> Iterator[tuple[str, int, int]]:
    """A file that is nothing but one random value: a master key, a cookie, a token."""
    value = content.strip()
    if len(value) <= 600 and b"\n" not in value:
        match = RUN.fullmatch(value)
        if match and looks_made(value) and len(value) not in (40, 64):
            start = content.find(value)
            yield FILE_SECRET, start, start + len(value)


def _encoded(value: bytes, *, pair: bool = True) -> str:
    """The rule for base64 of `user:password` (or of anything readable), or ""."""
    try:
        text = base64.b64decode(
            value.replace(b"-", b"+").replace(b"_", b"/") + b"=" * (-len(value) % 4), validate=True
        )
    except (binascii.Error, ValueError):
        return ""
    if pair and (b":" not in text or not text.isascii() or not text.decode("ascii").isprintable()):
        return ""
    part = text.partition(b":")[2] if pair else text.strip()
    if not pair and not text.isascii():
        return ENCODED_SECRET
    if _TEMPLATE.search(part) or not part or (pair and is_placeholder(part)):
        return ""
    return ENCODED_SECRET if looks_made(part) or len(part) > 64 else ENCODED_PASSWORD


_SENTENCE = re.compile(rb"(?:[a-z]+|[A-Z][a-z]+)[,.:]?\Z")
_SELECTOR = re.compile(rb"(?:[A-Za-z_]+:){2,}\W{0,2}|id=\S+")
_GOES_ON = re.compile(
    rb"[ \t]+(?!(?:account|login|machine|macdef|port|user|privilege|role)\b)[a-z]+[ \t,.]+[a-z]"
)
"""A word, and words of a sentence behind it: `username and password without a web browser`."""


def _stands_before(content: bytes, first: int, start: int, value: bytes) -> bool:
    """Whether a word stands on its line before, as a user or a database that has its name for a password."""
    return (
        value.isalpha()
        and re.search(rb"(?<![A-Za-z])" + value + rb"(?![A-Za-z])", content[max(first, start - 256) : start])
        is not None
    )


def _dense(value: bytes) -> bool:
    """No name or word: a digit or a symbol in it, and little of it in words."""
    if len(value) < 6 or not re.search(rb"[0-9]|[^A-Za-z0-9_./-]", value):
        return False
    if re.search(rb"^[./~]|[()]|/[^/]*/|::|\.[a-z]{2,4}$", value):
        return False
    return surprise(value) >= 4.4 or re.search(rb"[!@#$%^&*?]|[A-Za-z]{3,}[0-9]{2,}\Z", value) is not None


@cache
def _lined() -> re.Pattern[bytes]:
    """What any of the lined places matches."""
    return re.compile(b"|".join(place.pattern for place in PLACES if place.lined))


@cache
def _pattern(number: int) -> re.Pattern[bytes]:
    return re.compile(PLACES[number].pattern, re.M)
