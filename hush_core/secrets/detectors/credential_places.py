"""Where tools keep credentials: the lines of their own files and calls, recognised by their form, whatever the file is called.

Each is a gate (hyperscan, on the whole content), a pattern (RE2, on the lines that the gate names)
and what the whole content must hold besides. Groups are the values. Sources: the tools' manuals.
"""

# ruff: noqa: E501  (patterns: one row a form)

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from hush_core import linear


@dataclass(frozen=True)
class PlaceRule:
    """Where a kind of file holds a value.

    with_: what the content must hold somewhere. encoded: base64 of it. chosen: only what a person may have chosen
    (`is_chosen`). above: its name may be up to ABOVE bytes before the line of its value. option: the first group is
    the name of a command's option.
    """

    pattern: bytes
    gate: bytes = b""
    with_: bytes = b""
    encoded: bool = False
    secret: bool = False
    after_name: bool = False
    lined: bool = False
    chosen: bool = False
    above: bool = False
    option: bool = False

    @cached_property
    def compiled(self) -> linear.Linear:
        return linear.compile(self.pattern, re.M)

    @cached_property
    def beside(self) -> linear.Linear:
        return linear.compile(self.with_)


ABOVE = 160
"""No more than `changes.around` takes in."""
_Q = rb"[\"']?([^\s\"'`<>;,]{3,256})[\"']?"
_KEY64 = rb"([A-Za-z0-9+/]{42,43}=)"
_HUMAN = rb"(?i:pass(?:w(?:or)?d|phrase)?|pwd|_pw\b|\bpw\b)"
_WORD = rb"(?:pass(?:w(?:or)?d|phrase)?|pwd|secret|token|key)"
PLACES = (
    # ftp(1), curl: .netrc
    PlaceRule(rb"(?:(?:^|[ \t])machine[ \t]+\S{1,255}|^[ \t]*default)(?:[ \t]+(?:login|account|user)[ \t]+\S{1,128}){0,2}[ \t]+password[ \t]+(\S{1,256})",
          rb"(?:machine[ \t]+\S{1,128}|default)[ \t][^\n]{0,128}password[ \t]+\S"),
    PlaceRule(rb"^[ \t]*(?:login[ \t]+\S{1,128}[ \t]+)?password[ \t]+(\S{1,256})[ \t\r]*$", rb"^[ \t]*(?:login[ \t]+\S{1,128}[ \t]+)?password[ \t]+\S", rb"(?m)^[ \t]*(?:machine[ \t]+\S|default\b)"),
    # PostgreSQL: .pgpass
    PlaceRule(rb"^[A-Za-z0-9_.*/-]{1,255}:(?:[0-9]{1,5}|\*):[A-Za-z0-9_.*-]{1,64}:[A-Za-z_*][A-Za-z0-9_.*@-]{0,63}:([^\s:][^\r\n]{1,255}?)[ \t\r]*$",
          rb"^[A-Za-z0-9_.*/-]{1,128}:(?:[0-9]{1,5}|\*):[A-Za-z0-9_.*-]{1,64}:[A-Za-z_*][A-Za-z0-9_.*@-]{0,63}:[^\s:]"),
    # docker's config.json, npm's and podman's, HTTP basic authentication
    PlaceRule(rb"[\"']?_?auth[\"']?[ \t]*[:=][ \t]*[\"']?([A-Za-z0-9+/]{8,512}={0,2})(?![A-Za-z0-9+/=])", rb"auth[\"']?[ \t]*[:=][ \t]*[\"']?[A-Za-z0-9+/]{8}", encoded=True),
    PlaceRule(rb"(?i:basic)[ \t]+([A-Za-z0-9+/_-]{8,512}={0,2})(?![A-Za-z0-9+/=])", rb"[Bb][Aa][Ss][Ii][Cc][ \t]+[A-Za-z0-9+/_-]{8}", encoded=True),
    PlaceRule(rb"(?i:bearer|token|apikey|key|digest)[ \t]+([A-Za-z0-9+/_.~-]{20,}={0,2})(?![A-Za-z0-9+/=])", rb"(?i:authorization|x-api-key|x-auth)[^\n]{0,32}(?i:bearer|token|apikey|key)[ \t]+[A-Za-z0-9+/_.~-]{20}", secret=True),
    PlaceRule(rb"(?i:x-[a-z0-9-]{0,24}(?:key|token|auth|secret)|private-token|api-key|apikey|authorization)[\"']?[ \t]*[:,=][ \t]*[\"']?([A-Za-z0-9+/_.~-]{12,}={0,2})(?![A-Za-z0-9+/=])",
          rb"(?i:x-[a-z0-9-]{0,24}(?:key|token|auth|secret)|private-token|api-key|apikey|authorization)[\"']?[ \t]*[:,=][ \t]*[\"']?[A-Za-z0-9+/_.~-]{12}", after_name=True),
    PlaceRule(rb"(?i)(?::_(?:authToken|password|auth)|^BUNDLE_[A-Z0-9_]{1,64}:[ \t]*[\"']?[^\s:\"']{1,64}|^rootpw[ \t]+--plaintext)(?:[ \t]*=[ \t]*|:|[ \t])[\"']?([^\s\"'$]{3,512})",
          rb"(?i::_(?:authToken|password|auth)[ \t]*=[ \t]*[\"']?[^\s\"'$]{3}|^BUNDLE_[A-Z0-9_]{1,64}:[ \t]*[\"']?[^\s:\"']{1,64}:[^\s]{3}|^rootpw[ \t]+--plaintext[ \t][^\s]{3})"),
    # ADO.NET, ODBC, JDBC, Azure: name=value pairs
    PlaceRule(rb"(?i)(?:[;?&\"' \t{]|^)[ \t]*(?:password|pwd|passwd|accountkey|sharedaccesskey|sharedsecret(?:value)?|trustStorePassword|keyStorePassword|sslpassword|accesskey|secretkey|primarykey)[ \t]*=[ \t]*"
          rb"[{\"']?([^;&\"'\s<>{}]{2,256})", rb"(?i:[a-z][a-z0-9 _]{1,40}=[^;\n]{0,256}[;&?][ \t]*(?:password|pwd|passwd|accountkey|sharedaccesskey|sharedsecret)[ \t]*=|(?:password|pwd|accountkey|sharedaccesskey)[ \t]*=[^;&\n]{2,128}[;&][ \t]*[a-z][a-z0-9 _]{1,40}=)"),
    PlaceRule(rb"(?i)jdbc:oracle:[a-z]{1,8}:[^\s/\"']{1,64}/([^\s@\"']{2,128})@", rb"(?i:jdbc:oracle:[a-z]{1,8}:[^\s/\"']{1,64}/[^\s@\"']{2,128}@)"),
    PlaceRule(rb"(?i)(?:sqlplus|sqlldr|exp|imp|rman target)[ \t]+[\"']?[A-Za-z0-9_]{1,30}/([^\s@\"'/]{2,64})@", rb"(?i:sqlplus|sqlldr|rman target)[ \t]+[\"']?[A-Za-z0-9_]{1,30}/[^\s@\"'/]{2,64}@"),
    PlaceRule(rb"(?i)DriverManager\.getConnection\([^\n]{1,200},[ \t]*\"[^\"\n]{1,64}\",[ \t]*\"([^\"\n]{1,128})\"", rb"DriverManager\.getConnection\([^\n]{1,200},[ \t]*\"[^\"\n]{1,64}\",[ \t]*\""),
    # URLs with a password, in any scheme; Perl escapes the @ behind it
    PlaceRule(rb"[A-Za-z][A-Za-z0-9+.-]{0,24}://[^\s:/@\"'`<>\[\]{}()]{0,128}:([^\s\"'`<>/]{2,255}[^\s\"'`<>/\\])\\?@(?=[A-Za-z0-9\[_$%{.-])", rb"[A-Za-z0-9]://[^\s:/@\"'`<>]{0,128}:[^\s\"'`<>/]{3,256}@[A-Za-z0-9\[_$%{.-]"),
    PlaceRule(rb"(?i:[?&;])(?:access_?token|token|api_?key|key|secret|client_secret|password|pwd|passwd|auth|sig|signature|code|subscription-key|X-Amz-Signature|X-Amz-Security-Token|sas)=([A-Za-z0-9+/_.~%=-]{8,})",
          rb"[?&;](?i:[a-z_]{0,24}(?:_pass|pass|_password|_token|_secret|_key)|access_?token|token|api_?key|key|secret|client_secret|password|pwd|passwd|auth|sig|signature|code|subscription-key|X-Amz-Signature|X-Amz-Security-Token|sas)=[A-Za-z0-9+/_.~%=-]{8}", after_name=True),
    # shells: options with a password
    PlaceRule(rb"(?i)(?:^|[ \t\"'\[(,])--?([a-z0-9-]{0,32}" + _WORD + rb"[a-z0-9-]{0,12})(?:[ \t]+|=|[\"'],[ \t]*[\"'])[\"']?([^\s\"'`<>;|&$(){}\[\]-][^\s\"'`<>;|&(){}]{3,256})",
          rb"(?i:--?[a-z0-9-]{0,32}" + _WORD + rb"[a-z0-9-]{0,12}(?:[ \t]+|=|[\"'],[ \t]*[\"'])[\"']?[^\s\"'`<>;|&$(){}\[\]-][^\s\"'`<>;|&(){}]{3})", after_name=True, option=True),
    PlaceRule(rb"(?:^|[ \t])(?:-u|--user|--proxy-user|--auth)[ =]?[ \t]*[\"']?[^\s:\"'$]{1,128}:([^\s\"'$][^\s\"']{1,256})", rb"(?:-u|--user|--proxy-user|--auth)[ =]?[ \t]*[\"']?[^\s:\"'$]{1,128}:[^\s\"'$]{2}", rb"\b(?:curl|wget|http|https)\b"),
    PlaceRule(rb"(?:sshpass|mysql(?:dump|admin)?|mongo(?:dump|restore)?|docker login|podman login|7z|zip|redis-cli|ldapsearch|ldapadd|az|oc login|psql|mysqlimport|mariadb)\b[^\n|;]{0,160}?[ \t]-[paPw][ =]?[\"']?([^\s\"'`<>;|&$(){}\[\]-][^\s\"'`<>;|(){}]{3,128})",
          rb"(?:sshpass|mysql(?:dump|admin)?|mongo(?:dump|restore)?|docker login|podman login|redis-cli|ldapsearch|ldapadd|mariadb)\b[^\n|;]{0,160}[ \t]-[paPw][ =]?[\"']?[^\s\"'`<>;|&$(){}\[\]-]{4}", after_name=True),
    PlaceRule(rb"(?i)^[ \t]*(?:set(?:[ \t]+-[a-z]{1,4}){0,2}|setenv|ARG|ENV|setx|SetEnv|env)[ \t]+\$?\w{0,48}(?:pass(?:w(?:or)?d)?|pwd|secret|token|key|psk|auth)\w{0,16}[ \t]+[\"']?([^\s\"'=;$]{4,512})",
          rb"(?i:^[ \t]*(?:set(?:[ \t]+-[a-z]{1,4}){0,2}|setenv|ARG|ENV|setx|SetEnv|env)[ \t]+\$?\w{0,48}(?:pass(?:w(?:or)?d)?|pwd|secret|token|key|psk|auth)\w{0,16}[ \t]+[\"']?[^\s\"'=;$]{4})", after_name=True),
    PlaceRule(rb"(?i)ConvertTo-SecureString[ \t]+(?:-String[ \t]+)?(?:'([^'\n]{4,128})'|\"([^\"$\n]{4,128})\")", rb"(?i:ConvertTo-SecureString)[ \t]+[^\n]{0,16}[\"'][^\"'$\n]{4}"),
    # SQL
    PlaceRule(rb"(?i)(?:identified[ \t]+(?:with[ \t]+[a-z0-9_\"']{1,40}[ \t]+)?(?:by|as)(?:[ \t]+password)?|(?:with[ \t]+|encrypted[ \t]+|set[ \t]+)password(?:[ \t]+for[ \t]+[^\n=]{1,80})?[ \t]*=?)[ \t]*(?:password\()?[NE]?['\"]([^'\"\n]{3,256})['\"]|(?<![A-Za-z_.])password[ \t]*\([NE]?['\"]([^'\"\n]{3,256})['\"](?=\))",
          rb"(?i:identified[ \t]+(?:with[ \t]+[a-z0-9_\"']{1,40}[ \t]+)?(?:by|as)(?:[ \t]+password)?|(?:with|encrypted|set)[ \t]+password|password[ \t]*\()[^\n]{0,80}['\"][^'\"\n]{3}"),
    # settings of services, with a blank after the word
    PlaceRule(rb"(?i)^[ \t]*(?:requirepass|masterauth|masteruser|rcon_password|sv_password|bindpw|rootpw|rootbindpw|userpw|credentials|auth_?pass|auth-pass|dbpasswd|dbpassword|password|passwd|passphrase|secret|psk|pass|authtoken|auth_token|license_?key|key|token|mailhub_?pass|AuthPass|SMTPPass|mail_password"
          rb"|snmp-server community|rocommunity|rwcommunity|community|enable (?:secret|password)|key-string|pre-shared-key|tacacs-server key|radius-server key|wpa_passphrase|sae_password|wep_key[0-9]|kerberos_password|userid_pass|cookie|stats auth [^\s:]{1,64}:|auth [^\s]{1,64}|user_?pass)[ \t]+(?:[057][ \t]+)?"
          rb"[\"']?([^\s\"'=:{(\[]{3,256})[\"']?(?:[ \t]+R[OW](?:[ \t]+\w{1,32})?)?[ \t]*;?[ \t\r]*$",
          rb"(?i:^[ \t]*(?:requirepass|masterauth|rcon_password|sv_password|bindpw|rootpw|rootbindpw|userpw|auth_?pass|auth-pass|dbpasswd|dbpassword|password|passwd|passphrase|secret|psk|pass|authtoken|auth_token|license_?key|mailhub_?pass|AuthPass|SMTPPass|mail_password"
          rb"|snmp-server community|rocommunity|rwcommunity|enable (?:secret|password)|key-string|pre-shared-key|tacacs-server key|radius-server key|wpa_passphrase|sae_password|wep_key[0-9]|stats auth [^\s:]{1,64}:)[ \t]+(?:[057][ \t]+)?[\"']?[^\s\"'=:{(\[]{3})", after_name=True),
    PlaceRule(rb"(?i)^[ \t]*(?:username|user)[ \t]+\S{1,64}[ \t]+(?:privilege[ \t]+[0-9]{1,2}[ \t]+)?(?:password|secret)[ \t]+(?:[05789][ \t]+)?(\S{3,256})", rb"(?i:^[ \t]*(?:username|user)[ \t]+\S{1,64}[ \t]+(?:privilege[ \t]+[0-9]{1,2}[ \t]+)?(?:password|secret)[ \t]+\S)"),
    PlaceRule(rb"(?<!:):[ \t]*(?:PSK|XAUTH|EAP|NTLM|PIN)[ \t]+[\"']?([^\s\"']{3,256})[\"']?[ \t]*(?:[^\sA-Za-z][^\n]*)?\r?$", rb":[ \t]*(?:PSK|XAUTH|EAP|NTLM)[ \t]+[\"']?[^\s\"']{3}"),
    PlaceRule(rb"^[\"']?[A-Za-z0-9_.@\\*-]{1,64}[\"']?[ \t]+(?:\*|[A-Za-z0-9_-]{1,32})[ \t]+[\"']?([^\s\"'*]{3,128})[\"']?[ \t]+(?:\*|[0-9.]{7,15})[ \t\r]*$", lined=True),
    PlaceRule(rb"(?i)^(?:userPassword|olcRootPW|unicodePwd|sambaNTPassword|sambaLMPassword|krbPrincipalKey)::?[ \t]*(\S{3,512})", rb"(?i:^(?:userPassword|olcRootPW|unicodePwd|sambaNTPassword|sambaLMPassword|krbPrincipalKey)::?[ \t]*\S{3})"),
    # Postfix, Exim: host user:password
    PlaceRule(rb"^\[?(?:[A-Za-z0-9*-]{1,63}\.){1,8}[A-Za-z0-9-]{1,63}\]?(?::[0-9]{2,5})?[ \t]+[^\s:]{1,128}:([^\s:]\S{2,127})[ \t\r]*$", lined=True),
    # shadow(5), smbpasswd
    PlaceRule(rb"^[a-z_][a-z0-9_.-]{0,31}:([^\s:*!]{8,200}):[0-9]{0,6}:[0-9]{0,6}:[0-9]{0,6}:", lined=True),
    PlaceRule(rb"^[A-Za-z0-9_.$-]{1,64}:[0-9]{1,10}:([0-9A-FX]{32}:[0-9A-F]{32}):", lined=True),
    PlaceRule(rb"^[A-Za-z0-9_.@-]{1,64}:([./A-Za-z0-9]{13}|\{SHA\}\S{28}|\$\S{20,200})[ \t\r]*$", lined=True),
    PlaceRule(rb"^[^\s:]{1,64}:[^\n:]{1,64}:([0-9a-f]{32})[ \t\r]*$", lined=True),
    # XML: <server><password>x</password>, <add key="…" value="…"/>, FileZilla, plist
    PlaceRule(rb"(?i)<(?:[A-Za-z0-9]{1,16}[:.])?(?:[A-Za-z0-9_.-]{0,32}(?:pass(?:w(?:or)?d|phrase)?|pwd|secret|token|api-?key|license-?key|private-?key|authkey|credential))[0-9]{0,2}(?:[ \t][^<>\n]{0,128})?>(?:<!\[CDATA\[)?[ \t]*([^<\s\]]{3,512})[ \t]*(?:\]\]>)?</",
          rb"(?i:<(?:[A-Za-z0-9]{1,16}[:.])?[A-Za-z0-9_.-]{0,32}(?:pass(?:w(?:or)?d|phrase)?|pwd|secret|token|api-?key|license-?key|private-?key|authkey|credential)[0-9]{0,2}(?:[ \t][^<>\n]{0,128})?>(?:<!\[CDATA\[)?[ \t]*[^<\s\]]{3})"),
    PlaceRule(rb"(?i)(?:key|name|id|property|param(?:eter)?|field|option)[ \t]*=[ \t]*[\"'][^\"'\n]{0,64}(?:pass(?:w(?:or)?d|phrase)?|pwd|secret|token|key|credential|seed|salt|psk|dsn|cookie|auth)[0-9]{0,2}[\"'][^<>\n]{0,64}?(?:value|default|content)[ \t]*=[ \t]*[\"']([^\"'\s]{3,512})[\"']",
          rb"(?i:(?:key|name|id|property|param(?:eter)?|field|option)[ \t]*=[ \t]*[\"'][^\"'\n]{0,64}(?:pass(?:w(?:or)?d|phrase)?|pwd|secret|token|key|credential|seed|salt|psk|dsn|cookie|auth)[0-9]{0,2}[\"'][^<>\n]{0,64}(?:value|default|content)[ \t]*=[ \t]*[\"'][^\"'\s]{3})", after_name=True),
    PlaceRule(rb"(?i)(?:key|name|id)[ \t]*=[ \t]*[\"'][^\"'\n]{0,64}(?:pass(?:w(?:or)?d|phrase)?|pwd|secret|token|key|credential|seed|salt|psk|dsn|cookie|auth)[0-9]{0,2}[\"'][^<>\n]{0,64}>[ \t]*([^<\s]{3,512})[ \t]*</",
          rb"(?i:(?:key|name|id)[ \t]*=[ \t]*[\"'][^\"'\n]{0,64}(?:pass(?:w(?:or)?d|phrase)?|pwd|secret|token|key|credential|seed|salt|psk|dsn|cookie|auth)[0-9]{0,2}[\"'][^<>\n]{0,64}>[ \t]*[^<\s]{3,256}[ \t]*</)", after_name=True),
    # WireGuard, JSON Web Keys, PuTTY, Ansible, WordPress
    PlaceRule(rb"(?i)(?:PrivateKey|PresharedKey|private_key|preshared_key)[ \t\"']*[=:][ \t\"']*" + _KEY64, rb"(?i:PrivateKey|PresharedKey|private_key|preshared_key)[ \t\"']*[=:][ \t\"']*[A-Za-z0-9+/]{42}", secret=True),
    PlaceRule(rb"[\"'](?:d|p|q|dp|dq|qi|k)[\"'][ \t]*:[ \t]*[\"']([A-Za-z0-9_-]{16,})[\"']", rb"[\"'](?:d|p|q|dp|dq|qi|k)[\"'][ \t]*:[ \t]*[\"'][A-Za-z0-9_-]{16}", rb"[\"']kty[\"']", secret=True),
    PlaceRule(rb"define\([ \t]*['\"][A-Z_]{0,32}(?:PASSWORD|KEY|SALT|SECRET|TOKEN)[A-Z_]{0,16}['\"][ \t]*,[ \t]*(?:'([^'\n]{3,256})'|\"([^\"\n]{3,256})\")", rb"define\([ \t]*['\"][A-Z_]{0,32}(?:PASSWORD|KEY|SALT|SECRET|TOKEN)[A-Z_]{0,16}['\"][ \t]*,[ \t]*['\"][^'\"\n]{3}"),
    PlaceRule(rb"(?i)(?:mnemonic|seed(?:[ _-]?phrase)?|recovery(?:[ _-]?phrase)?)[\"' ]{0,3}[:=,>][ \t]*[\"']?((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})", rb"(?i:mnemonic|seed|recovery)[^\n]{0,24}[a-z]{3,8}[ ,]{1,2}(?:[a-z]{3,8}[ ,]{1,2}){8}", secret=True),
    # passwords with signs in them that end a value elsewhere, alone behind their name; with blanks, in quotes; in manuals; as defaults
    PlaceRule(rb"^[ \t]*(?:-[ \t]+)?(?:export[ \t]+|set[ \t]+|ENV[ \t]+)?[\"']?[\w.-]{0,40}" + _HUMAN + rb"[\"']?[ \t]*(?:=|:)[ \t]*([^\s\"'`<>;,(){}\[\]$=][^\s\"`]{4,63})[ \t\r]*$",
          rb"^[ \t]*(?:-[ \t]+)?(?:export[ \t]+|set[ \t]+|ENV[ \t]+)?[\"']?[\w.-]{0,40}" + _HUMAN + rb"[\"']?[ \t]*(?:=|:)[ \t]*[^\s\"'`<>;,(){}\[\]$=][^\s\"`]{0,62}[<>;,(){}\[\]'][^\s\"`]{0,62}[ \t\r]*$", chosen=True),
    PlaceRule(_HUMAN + rb"[\"']?[ \t]*(?:=>|:=|=|:)[ \t]*(?:\"([^\s\"\\]{1,32}(?: [^\s\"\\]{1,32}){1,5})\"|'([^\s'\\]{1,32}(?: [^\s'\\]{1,32}){1,5})')[ \t]*[,;)}]{0,3}[ \t\r]*$",
          _HUMAN + rb"[\"']?[ \t]*(?:=>|:=|=|:)[ \t]*[\"'][^\s\"'\\]{1,32} [^\s\\]", chosen=True),
    PlaceRule(rb"(?i:password|passphrase|passwd)[ \t]+(?:(?:is|of|to|as)[ \t]+)?`([^`\s]{5,64})`", rb"(?i:password|passphrase|passwd)[ \t]+(?:(?:is|of|to|as)[ \t]+)?`[^`\s]{5}", chosen=True),
    PlaceRule(rb"[\"'][\w.-]{0,40}" + _HUMAN + rb"[\"'],[ \t]*(?:[\w]{1,12}[ \t]*=[ \t]*[^,\n]{1,40},[ \t]*)?(?:default[ \t]*[=:][ \t]*)?[\"']([^\s\"'\\]{5,64})[\"'][ \t]*[,)]",
          rb"[\"'][\w.-]{0,40}" + _HUMAN + rb"[\"'],[ \t]*(?:[\w]{1,12}[ \t]*=[ \t]*[^,\n]{1,40},[ \t]*)?(?:default[ \t]*[=:][ \t]*)?[\"'][^\s\"'\\]{5}", chosen=True),
    PlaceRule(rb"--set(?:-string)?[ =][\"']?(?:[^\s,=\"']{1,80}=[^\s,]{0,80},){0,8}[\w.-]{0,60}" + _HUMAN + rb"=([^\s,\"'`<>;|&$(){}]{5,64})", rb"--set(?:-string)?[ =][^\n]{0,300}" + _HUMAN + rb"=[^\s,\"'`<>;|&$(){}]{5}", chosen=True),
    # calls that take user and password
    PlaceRule(rb"(?i)(?:\.|\b)(?:login|authenticate|connect|auth|basicAuth|basic_auth|setBasicAuth|signIn|logon|credentials|PasswordAuthentication|NetworkCredential|HTTPBasicAuth|UsernamePasswordCredentials|setCredentials|UserCredentials)\([ \t]*[^\n]{0,64}?[\"'][^\"'\n]{1,64}[\"'],[ \t]*[\"']([^\"'\s]{4,128})[\"']",
          rb"(?i:login|authenticate|connect|auth|signIn|logon|credentials|PasswordAuthentication|NetworkCredential)\([ \t]*[^\n]{0,64}[\"'][^\"'\n]{1,64}[\"'],[ \t]*[\"'][^\"'\s]{4,128}[\"']", after_name=True),
    # in manuals and tests of pages: typed, filled in, said
    PlaceRule(rb"(?i:\*\*(?:[a-z]+ )?password:?\*\*:?|\bpassword is)[ \t]+([^\s\"'`<>]{5,63}[^\s\"'`<>.,])[.,]?[ \t\r]*$", rb"(?i:\*\*(?:[a-z]+ )?password:?\*\*:?|password is)[ \t]+[^\s\"'`<>]{6}", chosen=True),
    PlaceRule(rb"(?i:pass(?:word|phrase)?|pwd)[\w-]{0,16}(?:\\?[\"'\])]){0,4}(?:,?[ \t]*(?:with:?|=>)[ \t]*|[\w.]{0,24}\.?(?i:send_?keys|type|fill|set_?value|clear_and_type)\()[\"']([^\s\"'\\]{5,64})[\"']",
          rb"(?i:(?:pass(?:word|phrase)?|pwd)[\w-]{0,16}(?:\\?[\"'\])]){0,4}(?:,?[ \t]*with:?[ \t]*|[\w.]{0,24}\.?(?:send_?keys|type|fill|set_?value|clear_and_type)\()[\"'][^\s\"'\\]{5})", chosen=True),
    PlaceRule(rb"(?i:\b(?:credentials?|log[ -]?in(?: with)?|sign in with)):?[ \t]+`?[\w.@-]{2,32}[ \t]?[:/][ \t]?([^\s\"'`/:<>@()]{6,64}?)`?[.,]?[ \t\r]*$", rb"(?i:\b(?:credentials?|log[ -]?in(?: with)?|sign in with)):?[ \t]+`?[\w.@-]{2,32}[ \t]?[:/][ \t]?[^\s\"'`/:<>@()]{6}", chosen=True),
    PlaceRule(rb"(?i:/\*|<!--)[^\n]{0,80}" + _HUMAN + rb"[ \t]*(?:=|:|is)[ \t]*([^\s\"'`<>;,(){}\[\]$]{5,64})[ \t]*(?:\*/|-->)", rb"(?:/\*|<!--)[^\n]{0,80}" + _HUMAN + rb"[ \t]*(?:=|:|is)[ \t]*[^\s\"'`<>;,(){}\[\]$]{5}", chosen=True),
    PlaceRule(rb"[`\"']([^\s`\"']{5,64})[`\"'],?[ \t]+(?:as|is|for)[ \t]+(?:(?:the|a|an|your|its|our)[ \t]+)?(?:[\w-]{1,24}[ \t]+){0,2}" + _HUMAN + rb"\b", rb"[^\s`\"']{5}[`\"'],?[ \t]+(?:as|is|for)[ \t]+(?:(?:the|a|an|your|its|our)[ \t]+)?(?:[\w-]{1,24}[ \t]+){0,2}" + _HUMAN, chosen=True),
    PlaceRule(rb"\|[^|\n]{0,48}" + _HUMAN + rb"[ \t]*\|[ \t]*`?([^\s|`]{5,64})`?[ \t]*\|", rb"\|[^|\n]{0,48}" + _HUMAN + rb"[ \t]*\|[ \t]*`?[^\s|`]{5}", chosen=True),
    PlaceRule(rb"^(?:[^\n(){}=]{0,120}[,;\t])?[\"']?[\w. -]{0,40}" + _HUMAN + rb"[\"']?[,;\t][\"']?([^\s,;\"'(){}]{5,64})[\"']?(?:[,;\t\r]|$)", _HUMAN + rb"[\"']?[,;\t][\"']?[^\s,;\"'(){}]{5,64}[\"']?(?:[,;\t\r]|$)", chosen=True),
    PlaceRule(rb"-H[ \t]*[\"'][\w-]{0,40}" + _HUMAN + rb"[\w-]{0,24}:[ \t]*([^\s\"'$]{5,128})[\"']", rb"-H[ \t]*[\"'][\w-]{0,40}" + _HUMAN + rb"[\w-]{0,24}:[ \t]*[^\s\"'$]{5}", chosen=True),
    PlaceRule(rb"(?i:authorization[\"']?[ \t]*[:=,][ \t]*[\"']?(?:bearer|token|apikey))[ \t]+([^\s\"'`<>${}(),]{6,64})(?=[\"'])", rb"(?i:authorization[\"']?[ \t]*[:=,][ \t]*[\"']?(?:bearer|token|apikey))[ \t]+[^\s\"'`<>${}(),]{6}", chosen=True),
    PlaceRule(rb"[?&](?i:[a-z_-]{0,24}(?:password|passwd|pass|pwd))=([^\s&\"'`<>#;$({]{5,64})", rb"[?&](?i:[a-z_-]{0,24}(?:password|passwd|pass|pwd))=[^\s&\"'`<>#;$({]{5}", chosen=True),
    # a name on a line above
    PlaceRule(rb"\b(?:variable|output|param)[ \t]+\"[\w-]{0,40}" + _HUMAN + rb"[\w-]{0,24}\"[ \t]*\{(?:[ \t]*\r?\n[^\n{}]{0,80}){0,4}\r?\n[ \t]*default[ \t]*=[ \t]*\"([^\"\s$]{5,64})\"",
          _HUMAN + rb"[\w-]{0,24}\"[ \t]*\{[^{}]{0,300}\n[ \t]*default[ \t]*=[ \t]*\"[^\"\s$]{5,64}\"", chosen=True, above=True),
    PlaceRule(rb"<key>[\w -]{0,32}" + _HUMAN + rb"</key>[ \t]*\r?\n[ \t]*<string>([^<\s]{5,64})</string>", _HUMAN + rb"</key>[ \t]*\r?\n[ \t]*<string>[^<\s]{5,64}</string>", chosen=True, above=True),
    PlaceRule(rb"<[\w:]{0,32}" + _HUMAN + rb">[ \t]*\r?\n[ \t]*<Value>([^<\s]{5,64})</Value>", _HUMAN + rb">[ \t]*\r?\n[ \t]*<Value>[^<\s]{5,64}</Value>", chosen=True, above=True),
    # what is taken where nothing is given
    PlaceRule(rb"[\w.-]{0,40}" + _HUMAN + rb"(?:\\?[\"'\])]){0,4}(?:\.unwrap_or\(|[ \t]*(?:\|\||\?\?|\?:|\bor\b|\|\|=)[ \t]*)[\"']([^\s\"'\\]{5,64})[\"']",
          _HUMAN + rb"(?:\\?[\"'\])]){0,4}(?:\.unwrap_or\(|[ \t]*(?:\|\||\?\?|\?:|or[ \t])[ \t]*)[\"'][^\s\"'\\]{5}", chosen=True),
    PlaceRule(rb"\$\{[\w.-]{0,60}" + _HUMAN + rb"(?::-|:=|-|:)([^\s\"'`{}$\\]{5,64})\}", rb"\$\{[\w.-]{0,60}" + _HUMAN + rb"(?::-|:=|-|:)[^\s\"'`{}$\\]{5}", chosen=True),
    PlaceRule(_HUMAN + rb"\w{0,16}(?::[ \t]*\w{1,16})?(?:[ \t]+(?:string|String|text))?[ \t]*=[ \t]*(?:Field\([^\n]{0,40}default[ \t]*=[ \t]*|Field\()?[\"']([^\s\"'\\]{5,64})[\"']", _HUMAN + rb"\w{0,16}(?::[ \t]*\w{1,16})?(?:[ \t]+(?:string|String|text)[ \t]*=|[ \t]*=[ \t]*Field\()[^\n]{0,60}[\"'][^\s\"'\\]{5}", chosen=True),
    PlaceRule(rb"[\"'][\w.-]{0,40}" + _HUMAN + rb"[\"'][ \t]*:[ \t]*\{[ \t]*[\"'](?:value|default|defaultValue)[\"'][ \t]*:[ \t]*[\"']([^\s\"'\\]{5,64})[\"']", rb"[\"'][\w.-]{0,40}" + _HUMAN + rb"[\"'][ \t]*:[ \t]*\{[ \t]*[\"'](?:value|default|defaultValue)[\"'][ \t]*:", chosen=True),
    # calls that take a password
    PlaceRule(rb"(?i:\.(?:with_?)?(?:user_?)?password|(?:check|verify|valid|encode|hash|reset|change)_?password|passwordEncoder\.encode|password_hash|bcrypt\.\w{1,20}|generate_password_hash)\([ \t]*(?:b|\{noop\})?[\"'](?:\{noop\})?([^\s\"'\\]{5,64})[\"'][ \t]*[,)]",
          rb"(?i:\.(?:with_?)?(?:user_?)?password|(?:check|verify|valid|encode|hash|reset|change)_?password|passwordEncoder\.encode|password_hash|bcrypt\.\w{1,20}|generate_password_hash)\([ \t]*b?[\"'][^\s\"'\\]{5}", chosen=True),
    PlaceRule(rb"(?i:create_?(?:super)?_?user|create_?connection|UserPassword|http_?basic|basic_?auth|mysqli_connect|mysql_connect|new PDO|FTP|WiFi\.begin|auth[ \t]*=[ \t]*)\([^()\n]{0,96}[\"'][^\"'\n]{1,64}[\"'],[ \t]*[\"']([^\s\"'\\]{5,64})[\"'][ \t]*[,)]",
          rb"(?i:create_?(?:super)?_?user|create_?connection|UserPassword|http_?basic|basic_?auth|mysqli_connect|mysql_connect|new PDO|FTP|WiFi\.begin|auth[ \t]*=[ \t]*)\([^()\n]{0,96}[\"'][^\"'\n]{1,64}[\"'],[ \t]*[\"'][^\s\"'\\]{5}", chosen=True),
    PlaceRule(rb"(?i:(?:login|authenticate|connect|auth|signIn|logon|credentials|PasswordAuthentication|NetworkCredential)\()[ \t]*[^()\n]{0,64}?[\"'][^\"'\n]{1,64}[\"'],[ \t]*[\"']([^\"'\s]{5,64})[\"']",
          rb"(?i:login|authenticate|connect|auth|signIn|logon|credentials|PasswordAuthentication|NetworkCredential)\([ \t]*[^()\n]{0,64}[\"'][^\"'\n]{1,64}[\"'],[ \t]*[\"'][^\"'\s]{5}", chosen=True),
    # SQL: the last of the columns
    PlaceRule(rb"(?i)\([^()\n]{0,200},[ \t]*[`\"\[]?\w{0,24}(?:pass(?:word|wd)?|pwd)[`\"\]]?[ \t]*\)[ \t]*VALUES[ \t]*\([^()\n]{0,300},[ \t]*N?'([^'\s]{5,64})'[ \t]*\)", rb"(?i:(?:pass(?:word|wd)?|pwd)[`\"\]]?[ \t]*\)[ \t]*VALUES[ \t]*\([^()\n]{0,300},[ \t]*N?'[^'\s]{5})", chosen=True),
    PlaceRule(rb"(?i)(?:create|alter)[ \t]+user[ \t]+\S{1,64}[ \t]+identified[ \t]+by[ \t]+([^\s\"';]{5,64})[ \t]*;?[ \t\r]*$", rb"(?i:(?:create|alter)[ \t]+user[ \t]+\S{1,64}[ \t]+identified[ \t]+by[ \t]+[^\s\"';]{5})", chosen=True),
    PlaceRule(rb"(?i:pgp_sym_(?:en|de)crypt(?:_bytea)?|aes_(?:en|de)crypt|(?:en|de)cryptbypassphrase)\([^()\n]{1,96},[ \t]*'([^'\s]{5,128})'", rb"(?i:pgp_sym_(?:en|de)crypt(?:_bytea)?|aes_(?:en|de)crypt|(?:en|de)cryptbypassphrase)\([^()\n]{1,96},[ \t]*'[^'\s]{5}", after_name=True),
    # in documents: user and password with a slash between, a value as the password; cloud-init's list
    PlaceRule(rb"(?i:account|log ?in|sign ?in|credentials?|access|user|wi-?fi|ssid|zugangsdaten|acceso|compte|accesso)[\w ]{0,16}(?::|\bas|\bwith)[ \t]*[`*\"']{0,3}[\w.@-]{1,40}[`*\"']{0,3} ?/ ?[`*\"']{0,3}([^\s/`*\"'<>(){}?&=#]{6,64})", rb"(?i:account|log ?in|sign ?in|credentials?|access|user|wi-?fi|ssid|zugangsdaten|acceso|compte|accesso)[\w ]{0,16}(?::|\bas|\bwith)[ \t]*[`*\"']{0,3}[\w.@-]{1,40}[`*\"']{0,3} ?/ ?[`*\"']{0,3}[^\s/`*\"'<>(){}]{6}", chosen=True),
    PlaceRule(rb"(?i:credentials?|basic_?auth|\bauth|log ?in|user:pass(?:word)?)[\"']?[ \t]*(?:[:=]|is|are)[ \t]*[\"'`]?[\w.@-]{1,40}:([^\s:\"'`/<>(){}]{6,64})[\"'`]?,?[ \t\r]*$", rb"(?i:credentials?|basic_?auth|auth|log ?in|user:pass(?:word)?)[\"']?[ \t]*(?:[:=]|is|are)[ \t]*[\"'`]?[\w.@-]{1,40}:[^\s:\"'`/<>(){}]{6,64}[\"'`]?,?[ \t\r]*$", chosen=True),
    PlaceRule(rb"[`\"'>]([^\s`\"'<>]{6,64})[`\"'<](?:/\w{1,8}>)?[ \t]+(?:is[ \t]+(?:the|a|your|my|our)[ \t]+|\()(?:[\w-]{1,24}[ \t]+){0,2}" + _HUMAN, rb"[`\"'>][^\s`\"'<>]{6,64}[`\"'<](?:/\w{1,8}>)?[ \t]+(?:is[ \t]+(?:the|a|your|my|our)[ \t]+|\()(?:[\w-]{1,24}[ \t]+){0,2}" + _HUMAN, chosen=True),
    PlaceRule(rb"(?i:\buse|\bwith|\benter|\btype)[ \t]+([^\s\"'`<>]{6,64})[ \t]+as[ \t]+(?:(?:the|a|your|its|my|our)[ \t]+)?(?:[\w-]{1,24}[ \t]+){0,2}" + _HUMAN, rb"(?i:use|with|enter|type)[ \t]+[^\s\"'`<>]{6,64}[ \t]+as[ \t]+[^\n]{0,60}" + _HUMAN, chosen=True),
    PlaceRule(rb"chpasswd:[ \t]*\r?\n(?:[^\n]{1,60}\n){1,3}?[ \t]+(?:-[ \t]+)?[a-z_][\w-]{0,31}:([^\s:]{6,64})[ \t\r]*$", rb"chpasswd:[ \t]*\r?\n[^{}]{0,120}\n[ \t]+(?:-[ \t]+)?[a-z_][\w-]{0,31}:[^\s:]{6,64}[ \t\r]*$", chosen=True, above=True),
    # commands that take a password by place
    PlaceRule(rb"\b(?:htpasswd[ \t]+-\w*b\w*[ \t]+\S{1,128}[ \t]+\S{1,64}[ \t]+|htpasswd[ \t]+-(?:nb|bn)\w*[ \t]+\S{1,64}[ \t]+|rabbitmqctl[ \t]+(?:add_user|change_password)[ \t]+\S{1,64}[ \t]+|lftp[ \t]+-u[ \t]+[^\s,]{1,64},|ssh-keygen[ \t][^\n]{0,64}-[NP][ \t]+|(?:un)?rar[ \t]+\w[ \t]+-h?p|usermod[ \t]+-p[ \t]+|radtest[ \t]+\S{1,64}[ \t]+|schtasks[ \t][^\n]{0,96}/rp[ \t]+|kinit[ \t][^\n]{0,64}<<<[ \t]*|passw[^\n]{0,64}<<<[ \t]*|(?:un)?zip[ \t]+(?:-\w+[ \t]+)*-P[ \t]?|7z[ \t]+\w[ \t]+-p|net[ \t]+user[ \t]+\S{1,64}[ \t]+|net[ \t]+use[ \t]+(?:[A-Za-z*]:?[ \t]+)?\\\\\S{1,128}[ \t]+|/user:\S{1,64}[ \t]+|smbclient[ \t][^\n]{0,96}-U[ \t]?[^\s%]{1,64}%|openssl[ \t][^\n]{0,96}[ \t]-k[ \t]+|nmcli[ \t][^\n]{0,96}[ \t]password[ \t]+|wpa_passphrase[ \t]+\S{1,64}[ \t]+|wpa-psk[ \t]+|useradd[ \t][^\n]{0,64}-p[ \t]+|-password[ \t]+password[ \t]+)[\"']?([^\s\"'`<>|;&$%/-][^\s\"'`<>|;&]{4,63})",
          rb"(?:htpasswd[ \t]+-\w*b|rabbitmqctl[ \t]+(?:add_user|change_password)[ \t]|lftp[ \t]+-u[ \t]|ssh-keygen[ \t][^\n]{0,64}-[NP][ \t]|rar[ \t]+\w[ \t]+-h?p|usermod[ \t]+-p[ \t]|radtest[ \t]+\S{1,64}[ \t]|schtasks[ \t][^\n]{0,96}/rp[ \t]|kinit[ \t][^\n]{0,64}<<<|passw[^\n]{0,64}<<<|zip[ \t]+(?:-\w+[ \t]+)*-P|7z[ \t]+\w[ \t]+-p|net[ \t]+user?[ \t]|/user:\S{1,64}[ \t]|smbclient[ \t][^\n]{0,96}-U[ \t]?[^\s%]{1,64}%|openssl[ \t][^\n]{0,96}[ \t]-k[ \t]|nmcli[ \t][^\n]{0,96}[ \t]password[ \t]|wpa_passphrase[ \t]|wpa-psk[ \t]|useradd[ \t][^\n]{0,64}-p[ \t]|-password[ \t]+password[ \t])[^\n]{5}", chosen=True),
    PlaceRule(rb"\b(?:echo|printf)[ \t]+(?:-\w[ \t]+)?[\"']?(?:[^\s:\"'|$]{1,32}:)?([^\s:\"'|$]{5,64})[\"']?[ \t]*\|[ \t]*(?:sudo[ \t]+)?(?:chpasswd|sudo[ \t]+(?:-\w[ \t]+)?-S|passwd[ \t]+--stdin|docker[ \t]+login[^\n]{0,80}--password-stdin)", rb"(?:echo|printf)[ \t][^\n|]{5,128}\|[ \t]*(?:sudo[ \t]+)?(?:chpasswd|sudo[ \t]+(?:-\w[ \t]+)?-S|passwd[ \t]+--stdin|docker[ \t]+login)", chosen=True),
    PlaceRule(rb"^user[ \t]+\S{1,64}[ \t](?:[^\n]{0,128}[ \t])?>([^\s]{5,128})", rb"^user[ \t]+\S{1,64}[ \t][^\n]{0,128}>[^\s]{5}", chosen=True),
)  # fmt: skip
