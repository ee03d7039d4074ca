"""Published formats of credentials that the pinned rules miss, or judge too narrowly.

Facts of the issuers: a fixed prefix, and an alphabet after it. Lengths are minima, as issuers lengthen their tokens;
what is part of something longer is taken whole. What has no prefix is found by its name (`credential_names`).

A new format is one row. It belongs in `_PREFIXED` if it is a prefix and then characters of one alphabet: those must
look random, as a name may begin with the prefix too. What has any other form, or need not look random, belongs in
`_EXACT`. A value of it belongs in `PUBLISHED` of `tests/hush_core/secrets/detectors/test_credentials.py`. If fewer
characters of it are random than there seem to be, `priors._KNOWN` says how many.
"""

# ruff: noqa: E501  (tables and patterns: one row a form)

from __future__ import annotations

import re
from dataclasses import dataclass

from hush_core import linear
from hush_core.secrets.detectors.credential_randomness import surprise

LEAST_SURPRISE = 5.0
"""Least mean surprise of what follows a prefix, in bits a character; what people write lies below."""


@dataclass(frozen=True)
class Format:
    """A published format: `body` is the value, `before` and `after` its borders; the gate is the body if empty.

    random: where the prefix ends, for formats whose prefix may be part of a name; what follows must look random.
    but: how examples of it end.
    """

    rule: str
    body: bytes
    before: bytes = rb"(?<![A-Za-z0-9_])"
    after: bytes = rb"(?![A-Za-z0-9_])"
    gate: bytes = b""
    random: bool = False
    but: bytes = b""

    def pattern(self) -> linear.Linear:
        return linear.compile(self.before + rb"(" + self.body + rb")" + self.after)


_EQUALS = rb"[\"']?[ \t]{0,4}[:=,][ \t]{0,4}[\"']?"
_DJANGO = rb"[a-z0-9!@#$%^&*()_=+-]"
_TOKEN_END = rb"(?![A-Za-z0-9_-])"
_EXACT = (
    # an id is listed with its account by AWS; those of its documentation end in EXAMPLE
    Format("hush.aws-access-key-id", rb"A[KS]IA[A-Z2-7]{16}", but=b"EXAMPLE"),
    Format(
        "hush.discord-webhook",
        rb"https://(?:canary\.|ptb\.)?discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,80}",
        after=_TOKEN_END,
    ),
    # the first part is the bot's decimal id in base64, hence its first letter
    Format("hush.discord-bot-token", rb"[MNO][A-Za-z0-9_-]{22,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}", rb"(?<![A-Za-z0-9_.-])", _TOKEN_END),
    Format("hush.azure-client-secret", rb"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", rb"(?<![A-Za-z0-9_~.-])", rb"(?![A-Za-z0-9_~-])"),
    Format("hush.mailgun-key", rb"key-[0-9a-f]{32}", rb"(?<![A-Za-z0-9_-])"),
    Format("hush.mailchimp-api-key", rb"[0-9a-f]{32}-us[0-9]{1,2}"),
    Format("hush.telegram-bot-token", rb"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}", after=_TOKEN_END),
    Format("hush.new-relic-key", rb"NRA[KL]-[A-Z0-9]{27}"),
    Format("hush.crates-io-token", rb"cio[A-Za-z0-9]{32}"),
    Format(
        "hush.django-secret-key",
        rb"(?:django-insecure-)?" + _DJANGO + rb"{50}",
        rb"(?i:secret[_-]?key)" + _EQUALS,
        rb"(?=[\"'\s]|\Z)",
        rb"(?i:secret[_-]?key)" + _EQUALS + _DJANGO + rb"{50}",
    ),
    Format("hush.braintree-token", rb"access_token\$(?:production|sandbox)\$[0-9a-z]{10,32}\$[0-9a-f]{20,64}"),
    Format("hush.salesforce-session", rb"00D[A-Za-z0-9]{9,15}![A-Za-z0-9_.-]{40,200}"),
    Format("hush.onepassword-secret-key", rb"A3-[A-Z0-9]{6}-[A-Z0-9]{6,11}(?:-[A-Z0-9]{5}){3,5}", rb"(?<![A-Za-z0-9_-])", _TOKEN_END),
    Format("hush.zoho-token", rb"1000\.[0-9a-f]{32}\.[0-9a-f]{32}"),
    Format("hush.facebook-app-token", rb"[0-9]{13,17}\|[A-Za-z0-9_-]{24,48}", rb"(?<![A-Za-z0-9_|])", _TOKEN_END),
    Format("hush.azure-sas", rb"(?<=[?&;\"' ])sig=([A-Za-z0-9%+/_-]{40,100}={0,2})", b"", rb"(?![A-Za-z0-9%+/_-])", rb"sig=[A-Za-z0-9%+/_-]{40}"),
    Format("hush.azure-devops-token", rb"[A-Za-z0-9]{70,76}AZDO[A-Za-z0-9]{4}", rb"(?<![A-Za-z0-9])", gate=rb"[A-Za-z0-9]{20}AZDO[A-Za-z0-9]{4}"),
    # Microsoft's keys of common annotated security: a mark of the service near the end, 32 to 84 characters
    Format(
        "hush.azure-annotated-key", rb"[A-Za-z0-9+/]{30,76}(?:AzFu|AzSe|\+ACR|\+AMC|\+ARm|\+ASt|APIM|\+AEh|\+ABa|ACDb|AzCa|AzBa|AzAp|AIoT|JQQJ99)"
        rb"[A-Za-z0-9+/]{5,60}={0,2}", rb"(?<![A-Za-z0-9+/])", rb"(?![A-Za-z0-9+/=])",
        rb"[A-Za-z0-9+/]{30}(?:AzFu|AzSe|\+ACR|\+AMC|\+ARm|\+ASt|APIM|\+AEh|\+ABa|ACDb|AzCa|AzBa|AzAp|AIoT|JQQJ99)[A-Za-z0-9+/]{5}",
    ),
    Format(
        "hush.webhook-url",
        rb"https://(?:hooks\.slack\.com/(?:services|workflows|triggers)|hooks\.zapier\.com/hooks/catch|maker\.ifttt\.com/trigger/[^\s/]{1,64}/with/key"
        rb"|[a-z0-9-]{1,64}\.webhook\.office\.com/webhookb2|outlook\.office\.com/webhook|chat\.googleapis\.com/v1/spaces"
        rb"|[a-z0-9-]{1,64}\.tines\.com/webhook|hook\.(?:eu1|us1|integromat)\.(?:make\.)?com|oapi\.dingtalk\.com/robot/send"
        rb"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send|discord\.com/api/webhooks"
        rb"|api\.telegram\.org/(?:file/)?bot|events\.pagerduty\.com/integration|[a-z0-9]{8,40}\.ingest\.[a-z.]{0,16}sentry\.io)[/?:][^\s\"'`<>\\]{16,400}",
        after=b"",
        gate=rb"https://(?:hooks\.slack\.com/|hooks\.zapier\.com/hooks/|maker\.ifttt\.com/trigger/|[a-z0-9-]{1,64}\.webhook\.office\.com/|outlook\.office\.com/webhook"
        rb"|chat\.googleapis\.com/v1/spaces|[a-z0-9-]{1,64}\.tines\.com/webhook|hook\.(?:eu1|us1|integromat)\.|oapi\.dingtalk\.com/robot/send|open\.(?:feishu|larksuite)"
        rb"|qyapi\.weixin\.qq\.com|discord\.com/api/webhooks|api\.telegram\.org/|events\.pagerduty\.com/integration)",
    ),
    Format("hush.sentry-dsn", rb"https://[0-9a-f]{32}(?::[0-9a-f]{32})?@[a-z0-9.-]{3,80}/[0-9]{1,20}"),
    Format(
        "hush.crypt-hash-password",
        rb"(?:\$(?:apr1|[1567y]|2[abxy]?|gy|md5|sha1|argon2(?:id?|d)|scrypt|pbkdf2[a-z0-9-]{0,12}|P|H|S)\$[./A-Za-z0-9$,=+-]{20,300}"
        rb"|\{(?:S?SHA(?:256|384|512)?|S?MD5|CRYPT|PBKDF2[A-Z0-9-]{0,8})\}[A-Za-z0-9+/$.]{16,200}={0,2}"
        rb"|(?:pbkdf2_sha(?:1|256|512)|bcrypt_sha256|argon2|scrypt)\$[A-Za-z0-9$+/=,._-]{24,300}"
        rb"|(?:pbkdf2:sha(?:1|256|512)|scrypt):[0-9:]{1,20}\$[A-Za-z0-9$]{24,300}|SCRAM-SHA-256\$[0-9]{1,6}:[A-Za-z0-9+/=$:]{40,300})",
        rb"(?<![A-Za-z0-9$])",
        b"",
        rb"(?:\$(?:apr1|[1567y]|2[abxy]?|gy|md5|sha1|argon2(?:id?|d)|scrypt|pbkdf2[a-z0-9-]{0,12}|P|H|S)\$[./A-Za-z0-9$,=+-]{20}"
        rb"|\{(?:S?SHA(?:256|384|512)?|S?MD5|CRYPT|PBKDF2[A-Z0-9-]{0,8})\}[A-Za-z0-9+/$.]{16}"
        rb"|(?:pbkdf2_sha(?:1|256|512)|bcrypt_sha256|argon2|scrypt)\$[A-Za-z0-9$+/=,._-]{24}"
        rb"|(?:pbkdf2:sha(?:1|256|512)|scrypt):[0-9:]{1,20}\$[A-Za-z0-9$]{24}|SCRAM-SHA-256\$[0-9]{1,6}:[A-Za-z0-9+/=$:]{40})",
    ),
)  # fmt: skip

_HEX, _HEX_DASH, _BASE36 = rb"[0-9a-fA-F]", rb"[0-9a-fA-F-]", rb"[0-9a-z]"
_BASE62, _URL = rb"[A-Za-z0-9]", rb"[A-Za-z0-9_-]"
_DOTTED, _BASE64 = rb"[A-Za-z0-9_.=-]", rb"[A-Za-z0-9+/=_-]"
_PREFIXED = (
    ("adafruit-key", rb"aio_", _BASE62, 24), ("adobe-secret", rb"p8e-", _URL, 24),
    ("alibaba-key-id", rb"LTAI", _BASE62, 12), ("alibaba-sts", rb"STS\.", _BASE62, 16),
    ("aiven-token", rb"AVNS_", _URL, 16), ("anthropic-key", rb"sk-ant-[a-z0-9]{2,12}-", _URL, 40),
    ("apify-token", rb"apify_(?:api|proxy)_", _URL, 24), ("artifactory-token", rb"AKC[a-z0-9]", _BASE62, 40),
    ("artifactory-reference", rb"cmVmd", _BASE62, 40), ("asana-token", rb"[0-9]/[0-9]{10,20}(?:/[0-9]{10,20})?:", _BASE62, 24),
    ("atlassian-token", rb"AT[A-Z]TT3xFf", _DOTTED, 30), ("bitbucket-token", rb"(?:ATBB|BBDC-)", _BASE64, 20),
    ("authress-key", rb"(?:sc|ext|scauth|authress)_", _DOTTED, 40), ("aws-bedrock-key", rb"(?:ABSK|bedrock-api-key-)", _BASE64, 40),
    ("aws-access-key", rb"(?:A3T[A-Z0-9]|ABIA|ACCA|AROA|AIDA|AGPA|ANPA|APKA|ASCA)", rb"[A-Z0-9]", 16),
    ("aws-session-token", rb"(?:IQoJb3JpZ2lu|FwoGZXIvYXdz|FQoGZXIvYXdz)", _BASE64, 40),
    ("azure-refresh-token", rb"[01]\.A[A-Za-z0-9_-]{30,60}\.", _DOTTED, 40), ("beamer-key", rb"b_", _BASE62, 40),
    ("brevo-key", rb"(?:xsmtpsib|xkeysib)-", _URL, 40), ("buildkite-token", rb"bk[a-z]{1,3}_", _BASE62, 20),
    ("canva-secret", rb"cnvca", _URL, 32), ("circleci-token", rb"(?:CCIPAT|CCIPRJ)_", _URL, 30), ("clickhouse-key", rb"4b1d", _BASE62, 36),
    ("clojars-token", rb"CLOJARS_", _HEX, 40), ("cloudflare-origin-key", rb"v1\.0-", _HEX_DASH, 60),
    ("cloudflare-token", rb"cf(?:[a-z]t|k|at)_", _BASE62, 24),
    ("cohere-token", rb"co_", _BASE62, 32), ("composer-token", rb"packagist_[a-z]{2,8}_", _BASE62, 24),
    ("contentful-token", rb"CFPAT-", _URL, 30), ("contentstack-token", rb"cs[a-f0-9]{20}", _HEX, 4),
    ("databricks-token", rb"(?:dapi|dose|dkea|dsapi)", _HEX_DASH, 30), ("datadog-key", rb"dd[pwa]+_", _BASE62, 24),
    ("defined-networking-key", rb"dnkey-", _URL, 40), ("digitalocean-token", rb"do[opr]_v1_", _HEX, 32),
    ("docker-token", rb"dckr_[a-z]{2,4}_", _URL, 20),
    ("doppler-token", rb"dp\.(?:ct|pt|st|sa|scim|audit|said)\.", _DOTTED, 32), ("dropbox-token", rb"sl\.(?:[a-z]{1,2}\.)?", _URL, 50),
    ("duffel-token", rb"duffel_(?:test|live)_", _URL, 30), ("dynatrace-token", rb"dt0[a-z][0-9]{2}\.", _DOTTED, 40),
    ("easypost-key", rb"EZ[AT]K", _BASE62, 40), ("elevenlabs-key", rb"sk_", _HEX, 40), ("endorlabs-key", rb"endr\+", _URL, 14),
    ("facebook-token", rb"EAA[A-Za-z0-9]", _BASE62, 60), ("figma-token", rb"fig[dpuorh]{1,2}_", _URL, 30),
    ("flutterwave-key", rb"FLW(?:SECK|PUBK)(?:_TEST)?-", _URL, 12), ("fly-token", rb"(?:fo1|fm1[ar]|fm2)_", _BASE64, 40),
    ("frameio-token", rb"fio-[a-z]-", _DOTTED, 40), ("freemius-key", rb"sk_", rb"[A-Za-z0-9&#@!?*^%_+~-]", 26),
    ("github-token", rb"gh[pousr]_", _BASE62, 30), ("github-fine-token", rb"github_pat_", rb"[A-Za-z0-9_]", 40),
    ("gitlab-token", rb"gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt)-", rb"[A-Za-z0-9_.=-]", 16),
    ("gitlab-runner-token", rb"GR1348941", _URL, 16), ("gitlab-session", rb"_gitlab_session=", _HEX, 30),
    ("gocardless-token", rb"(?:live|sandbox)_", _URL, 36), ("google-oauth-secret", rb"GOCSPX-", _URL, 20), ("google-oauth-token", rb"ya29\.", _DOTTED, 20),
    ("google-refresh-token", rb"1//0[0-9a-z]?", _URL, 40), ("google-api-key", rb"AIza", _URL, 30), ("google-captcha-key", rb"6L[a-zA-Z0-9]", _URL, 35),
    ("google-code", rb"4/0A", _URL, 40), ("grafana-token", rb"(?:glsa|glc|gsa)_", _BASE64, 32), ("grafana-key", rb"eyJrIjoi", _BASE64, 40),
    ("groq-key", rb"gsk_", _BASE62, 30), ("hashicorp-vault-token", rb"hv[sbr]\.", _URL, 20), ("vault-old-token", rb"[sbr]\.", _BASE62, 24),
    ("vault-unseal", rb"hvk\.", _URL, 20), ("harness-token", rb"(?:pat|sat)\.", _DOTTED, 50), ("heroku-key", rb"HRKU-", _URL, 30),
    ("hubspot-token", rb"pat-(?:na|eu|ap)[0-9]-", _HEX_DASH, 30), ("hugging-face-token", rb"(?:hf|api_org)_", _BASE62, 30),
    ("infracost-key", rb"ico-", _BASE62, 28), ("intercom-token", rb"dG9rO", _BASE64, 40), ("ionic-token", rb"ion_", _BASE62, 32),
    ("intra42-key", rb"[su]-s4t2(?:ud|af)-", _HEX, 40), ("jira-token", rb"ATCTT3xFf", _DOTTED, 30), ("launchdarkly-key", rb"(?:api|sdk|mob)-", _HEX_DASH, 36),
    ("langsmith-key", rb"ls(?:v2_(?:pt|sk)|__)_?", rb"[a-f0-9_]", 32), ("langfuse-key", rb"(?:sk|pk)-lf-", _HEX_DASH, 30),
    ("linear-key", rb"lin_(?:api|oauth)_", _BASE62, 32), ("lob-key", rb"(?:live|test)_(?:pub_)?", _HEX, 31), ("lightspeed-token", rb"lsxs_pt_", _BASE62, 20),
    ("mailersend-key", rb"mlsn\.", _HEX, 40), ("mailgun-api-key", rb"(?:pubkey|key)-", _HEX, 30), ("mailgun-signing", rb"[0-9a-f]{32}-[0-9a-f]{8}-", _HEX, 8),
    ("mandrill-key", rb"md-", _URL, 22), ("mapbox-token", rb"[st]k\.eyJ", _DOTTED, 40),
    ("mercadopago-token", rb"APP_USR-|TEST-[0-9]{10,20}-", rb"[0-9a-f-]", 40), ("mergify-key", rb"mka_", _BASE62, 32),
    ("nats-seed", rb"S[ACNOUX]A", rb"[A-Z2-7]", 55), ("mongodb-atlas", rb"mdb_(?:sa|sk)_[a-z]{2}_", _URL, 30), ("midtrans-key", rb"(?:SB-)?Mid-server-", _URL, 20), ("neon-key", rb"napi_", _BASE62, 32),
    ("netlify-token", rb"nf[pcou]_", _BASE62, 32), ("netlify-old-token", rb"NF-", _BASE62, 30), ("new-relic-any", rb"NR(?:AK|AA|II|IQ|BR|RA|SP|AL|JS)-", _URL, 16),
    ("notion-token", rb"(?:ntn|secret)_", _BASE62, 36), ("npm-token", rb"npm_", _BASE62, 30),
    ("nuget-key", rb"oy2", _BASE36, 43), ("nvidia-key", rb"nvapi-", _URL, 40), ("octopus-key", rb"API-", rb"[A-Z0-9]", 24),
    ("onepassword-service", rb"ops_", _BASE64, 60), ("okta-token", rb"00[A-Za-z0-9]", _URL, 39), ("openai-key", rb"sk-(?:proj-|svcacct-|admin-|None-|service-)?", _URL, 32),
    ("openrouter-key", rb"sk-or-v1-", _HEX, 40), ("openshift-token", rb"sha256~", _URL, 36), ("openvsx", rb"ovsxat_", _HEX_DASH, 30), ("paddle-key", rb"pdl_(?:live|sdbx)_apikey_", rb"[A-Za-z0-9_]", 30),
    ("pagerduty-key", rb"(?:pdus|pdeu)\+", _BASE64, 16), ("paystack-key", rb"[sp]k_(?:live|test)_", _HEX, 36), ("paypal-token", rb"access_token\$", rb"[A-Za-z0-9$]", 30),
    ("persona-key", rb"persona_(?:production|sandbox)_", _HEX_DASH, 30), ("perplexity-key", rb"pplx-", _BASE62, 32), ("pinecone-key", rb"pcsk_", rb"[A-Za-z0-9_]", 40),
    ("plaid-token", rb"(?:access|link|public)-(?:production|sandbox|development)-", _HEX_DASH, 30), ("planetscale-token", rb"pscale_(?:tkn|pw|oauth|api)_", _DOTTED, 30),
    ("posthog-key", rb"ph[a-z]_", _BASE62, 32), ("postman-key", rb"PMA[KT]-", rb"[A-Za-z0-9-]", 40),
    ("prefect-key", rb"pn[ub]_", _BASE62, 30), ("pubnub-key", rb"(?:sub|pub|sec)-c-", _DOTTED, 30), ("pulumi-token", rb"pul-", _HEX, 36),
    ("pypi-token", rb"pypi-", _URL, 50), ("ramp-key", rb"ramp_[a-z]{2,4}_", _BASE62, 36), ("rapidapi-key", rb"[A-Za-z0-9_-]{10}msh[A-Za-z0-9_-]{15}p1", _URL, 20),
    ("razorpay-key", rb"rzp_(?:live|test)_", _BASE62, 12), ("readme-key", rb"rdme_", _BASE36, 40), ("render-key", rb"rnd_", _BASE62, 20),
    ("replicate-token", rb"r8_", _URL, 30), ("resend-key", rb"re_[A-Za-z0-9]{6,10}_", _BASE62, 20), ("robinhood-key", rb"rh-api-", _HEX_DASH, 30),
    ("rootly-key", rb"rootly_", _HEX, 40), ("rubygems-key", rb"rubygems_", _BASE62, 40), ("runpod", rb"rpa_", _BASE62, 30), ("salad-key", rb"salad_cloud_", rb"[A-Za-z0-9_]", 20),
    ("salesforce-key", rb"3MVG9", rb"[A-Za-z0-9._+/=]", 40), ("salesforce-refresh", rb"5Aep861", rb"[A-Za-z0-9._=]", 40), ("samsara", rb"samsara_api_", _BASE62, 24),
    ("scalingo-token", rb"tk-us-", _URL, 40), ("scaleway-key", rb"SCW", rb"[A-Z0-9]", 17), ("segment-key", rb"sgp_", rb"[A-Za-z0-9_]", 40), ("sendgrid-key", rb"SG\.", _DOTTED, 50),
    ("sentry-token", rb"sntry[a-z]_", _BASE64, 40), ("settlemint-token", rb"sm_(?:aat|pat|sat)_", _BASE62, 14), ("shippo-token", rb"shippo_(?:live|test)_", _HEX, 32),
    ("shopify-token", rb"shp(?:at|ca|pa|ss|tka|rt|it|sa|ua)_", rb"[0-9a-zA-Z_]", 30), ("slack-app-token", rb"xapp-[0-9]-", _URL, 30), ("slack-token", rb"xox[a-z](?:\.xox[a-z])?-", _URL, 20), ("slack-config", rb"xoxe\.xox[bp]-[0-9]-", _URL, 30),
    ("snyk-token", rb"snyk_[a-z]{2,4}\.", _DOTTED, 30), ("sonar-token", rb"sq[upabc]_", _HEX, 36), ("sourcegraph-token", rb"sg[pmd]_", rb"[A-Za-z0-9_]", 36), ("sourcegraph-cody", rb"slk_", _HEX, 40),
    ("square-token", rb"(?:sandbox-)?sq0[a-z]{3}-", _URL, 20), ("square-access", rb"EAAA[A-Za-z0-9]?", _URL, 50), ("statsig-key", rb"(?:secret|console|client)-", _BASE62, 30), ("stripe-key", rb"[srp]k_(?:live|test|prod)_", _BASE62, 12),
    ("stripe-webhook-secret", rb"whsec_", _BASE64, 20), ("stripe-intent", rb"(?:pi|seti)_[A-Za-z0-9]{14,30}_secret_", _BASE62, 20), ("supabase-token", rb"sb(?:p|_secret|_publishable)_", _URL, 20), ("stytch-key", rb"(?:secret|project)-(?:live|test)-", _URL, 30),
    ("tailscale-key", rb"tskey-(?:[a-z]{2,10}-)?", _URL, 16), ("tavily", rb"tvly-", _URL, 20), ("telnyx-key", rb"KEY0[0-9A-F]", _URL, 30), ("terraform-cloud-token", rb"[A-Za-z0-9]{14}\.atlasv1\.", _URL, 40),
    ("together", rb"tgp_v[0-9]_", _URL, 30), ("trello-token", rb"ATTA", _HEX, 60), ("tinybird", rb"p\.eyJ", _DOTTED, 40), ("twilio-key", rb"(?:SK|AC)", _HEX, 32), ("typeform-token", rb"tfp_", _DOTTED, 36),
    ("uploadthing", rb"sk_live_|sk_test_", _HEX, 40), ("upstash", rb"AX[A-Za-z0-9]{2}", _BASE64, 44), ("val-town", rb"vtwn_", _BASE62, 20), ("vercel-token", rb"(?:vc[a-z]|vercel_blob_rw|vercel)_", rb"[A-Za-z0-9_]", 22), ("voiceflow-key", rb"VF\.(?:DM\.|WS\.)?", _DOTTED, 36),
    ("volcengine", rb"AKLT", _BASE64, 30), ("tencent-id", rb"AKID", _BASE62, 30), ("wakatime-key", rb"waka_", _HEX_DASH, 30), ("wandb-key", rb"wandb_v[0-9]_", rb"[A-Za-z0-9_]", 30), ("weights-local", rb"local-", _HEX, 40),
    ("workos-key", rb"sk_(?:live|test)_", _BASE64, 30), ("xai-key", rb"xai-", _URL, 40), ("xata", rb"xau_", _BASE62, 24), ("yandex-key", rb"AQVN", _URL, 30), ("yandex-token", rb"(?:t1\.|y[0-3]_|AQAAAA)", _DOTTED, 40),
    ("yandex-secret", rb"YC[A-Z]?", rb"[A-Za-z0-9_-]", 36), ("zuplo-key", rb"zpka_", rb"[a-z0-9_]", 30), ("zhipu-key", rb"[0-9a-f]{32}\.", _BASE62, 16), ("cerebras", rb"csk-", _BASE36, 40), ("deepseek-key", rb"sk-", _HEX, 30),
    ("discord-mfa-token", rb"mfa\.", _URL, 60), ("todoist", rb"tdo_", _HEX, 36), ("clerk-key", rb"sk_(?:live|test)_", _BASE62, 30), ("cockroach", rb"CCDB1_", rb"[A-Za-z0-9_]", 30), ("confluent-key", rb"cflt", _BASE64, 40),
    ("airtable-token", rb"pat[A-Za-z0-9]{14}\.", _HEX, 40), ("airtable-old-key", rb"key[A-Za-z0-9]{6}", _BASE62, 8), ("age-key", rb"AGE-(?:SECRET-KEY-1|PLUGIN-[A-Z]{2,16}-1)", rb"[A-Z0-9]", 40), ("ably-key", rb"[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{6}:", _URL, 32),
    ("firebase-server-key", rb"AAAA[A-Za-z0-9_-]{7}:", _URL, 80), ("firebase-refresh", rb"AMf-vB", _URL, 60), ("teamcity-token", rb"eyJ0eXAiOiAiVENWMiJ9\.", _DOTTED, 30), ("jwe-or-paseto", rb"v[1-4]\.(?:local|public)\.", _DOTTED, 40),
    ("twitch", rb"oauth:", _BASE36, 28), ("bearer-oauth1", rb"AAAAAAAAAAAAAAAAAAAAA", rb"[A-Za-z0-9%]", 60),
)  # fmt: skip


def _prefixed(name: str, prefix: bytes, alphabet: bytes, least: int) -> Format:
    """A row of _PREFIXED as a format: the gate only as far as needed to be seldom."""
    head = rb"(?:" + prefix + rb")" + alphabet
    body, gate = rb"(?:%b)(%b{%d,})" % (prefix, alphabet, least), head + rb"{%d}" % min(least, 40)
    return Format(f"hush.{name}", body, rb"(?<![A-Za-z0-9_+/.-])", b"", gate, random=True)


FORMATS = (*_EXACT, *(_prefixed(*row) for row in _PREFIXED))


_ALL_HEX = re.compile(rb"[0-9a-f]+|[0-9A-F]+")


def looks_random(kind: Format, match: linear.Match) -> bool:
    """Whether what follows the prefix may be random, where a name might begin with it."""
    if kind.but and match[1].endswith(kind.but):
        return False
    if not kind.random:
        return True
    body = match[2]
    if _ALL_HEX.fullmatch(match[1]):  # a prefix that is hexadecimal, too, in a hash or a dump
        return False
    least = LEAST_SURPRISE if re.search(rb"[0-9]", body) else LEAST_SURPRISE + 1.5
    return surprise(body) >= least and len(set(body)) >= min(8, len(body) // 2)
