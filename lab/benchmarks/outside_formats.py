"""Published formats of credentials that have a prefix or a shape of their own: name | whose words | expression.

Written from the vendors' pages and from what is publicly known of them, by someone who had not read hush's rules.
`drawn_by` names a maker of `outside_draw.py` where an expression is not enough; the expression is checked all the same.
"""

# ruff: noqa: E501 (one row a line)

import random
from collections.abc import Callable
from dataclasses import dataclass

import outside_draw as by

UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


@dataclass(frozen=True)
class Format:
    """One type of credential. `names`: what its variable is called by those who tell; empty: `vendor` + a noun."""

    name: str
    source: str
    pattern: str
    group: str = "prefixed"
    names: tuple[str, ...] = ()
    make: Callable[[random.Random], str] | None = None

    def draw(self, chance: random.Random) -> str:
        return self.make(chance) if self.make else by.draw(self.pattern, chance)

    @property
    def vendor(self) -> str:
        return self.name.split("-")[0]


TABLE = r"""
aws-access-key-id | AWS: IAM identifiers, unique ID prefixes | AKIA[A-Z2-7]{16}
aws-temporary-key-id | AWS: IAM identifiers, unique ID prefixes | ASIA[A-Z2-7]{16}
aws-bedrock-long-key | AWS: Amazon Bedrock API keys | ABSKQmVkcm9ja0FQSUtleS[A-Za-z0-9+/]{106}=
google-api-key | Google Cloud: Manage API keys | AIza[0-9A-Za-z_-]{35}
google-client-secret | Google Cloud: OAuth clients | GOCSPX-[A-Za-z0-9_-]{28}
google-access-token | Google: Using OAuth 2.0, token size | ya29\.a0A[A-Za-z0-9_-]{160,200}
google-refresh-token | Google: Using OAuth 2.0, offline access | 1//0[0-9a-z][A-Za-z0-9_-]{11}CgYIARAA[A-Za-z0-9_-]{70}
azure-client-secret | Microsoft Entra: client secrets | [A-Za-z0-9]{3}8Q~[A-Za-z0-9_~.-]{34}
azure-storage-key | Microsoft: identifiable keys, storage | [A-Za-z0-9+/]{76}\+ASt[A-Za-z0-9+/]{6}==
azure-cosmos-key | Microsoft: identifiable keys, Cosmos DB | [A-Za-z0-9+/]{76}ACDb[A-Za-z0-9+/]{6}==
azure-servicebus-key | Microsoft: identifiable keys, Service Bus | [A-Za-z0-9+/]{33}\+ASb[A-P][A-Za-z0-9+/]{5}=
azure-eventhub-key | Microsoft: identifiable keys, Event Hubs | [A-Za-z0-9+/]{33}\+AEh[A-P][A-Za-z0-9+/]{5}=
azure-cache-key | Microsoft: identifiable keys, Redis | [A-Za-z0-9+/]{33}AzCa[A-P][A-Za-z0-9+/]{5}=
azure-search-key | Microsoft: identifiable keys, AI Search | [A-Za-z0-9]{42}AzSe[A-D][A-Za-z0-9]{5}
azure-registry-key | Microsoft: identifiable keys, Container Registry | [A-Za-z0-9+/]{42}\+ACR[A-D][A-Za-z0-9]{5}
azure-function-key | Microsoft: identifiable keys, Functions | [A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_-]{5}[AQgw]==
azure-devops-token | Microsoft: Azure DevOps personal access tokens | [A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}
azure-sas-url | Microsoft: Storage, service SAS | https://[a-z]{8}\.blob\.core\.windows\.net/data\?sv=2023-11-03&st=2025-0[1-9]-0[1-9]&se=2027-01-01&sr=c&sp=racwl&sig=[A-Za-z0-9]{20}%2B[A-Za-z0-9]{22}%3D
alibaba-access-key-id | Alibaba Cloud: AccessKey pairs | LTAI5t[A-Za-z0-9]{18}
tencent-secret-id | Tencent Cloud: API keys | AKID[A-Za-z0-9]{32}
yandex-api-key | Yandex Cloud: API keys | AQVN[A-Za-z0-9_-]{36}
yandex-oauth-token | Yandex: OAuth tokens | y0_[A-Za-z0-9_-]{55}
scaleway-access-key | Scaleway: API keys | SCW[A-Z0-9]{17}
digitalocean-token | DigitalOcean: API tokens | dop_v1_[a-f0-9]{64}
digitalocean-oauth | DigitalOcean: OAuth | doo_v1_[a-f0-9]{64}
digitalocean-refresh | DigitalOcean: OAuth | dor_v1_[a-f0-9]{64}
fly-token | Fly.io: access tokens | fm2_[A-Za-z0-9+/]{180,240}
heroku-api-key | Heroku: new token format | HRKU-AA[0-9A-Za-z_-]{58}
render-api-key | Render: API keys | rnd_[A-Za-z0-9]{28}
netlify-token | Netlify: token prefixes | nfp_[A-Za-z0-9]{36}
supabase-token | Supabase: access tokens | sbp_[a-f0-9]{40}
supabase-secret-key | Supabase: API keys | sb_secret_[A-Za-z0-9_-]{22}_[A-Za-z0-9]{8}
planetscale-token | PlanetScale: service tokens | pscale_tkn_[A-Za-z0-9_-]{43}
planetscale-password | PlanetScale: connection strings | pscale_pw_[A-Za-z0-9_-]{43}
neon-api-key | Neon: manage API keys | napi_[a-z0-9]{64}
databricks-token | Databricks: personal access tokens | dapi[a-f0-9]{32}
aiven-password | Aiven: service passwords | AVNS_[A-Za-z0-9_-]{19}
materialize-password | Materialize: app passwords | mzp_[a-f0-9]{64}
xata-key | Xata: API keys | xau_[A-Za-z0-9]{36}
cloudflare-origin-key | Cloudflare: Origin CA keys | v1\.0-[a-f0-9]{24}-[a-f0-9]{146}
doppler-token | Doppler: token formats | dp\.pt\.[A-Za-z0-9]{43}
doppler-service-token | Doppler: token formats | dp\.st\.[a-z]{3,8}\.[A-Za-z0-9]{43}
vault-service-token | HashiCorp Vault: tokens | hvs\.[A-Za-z0-9_-]{90,105}
vault-batch-token | HashiCorp Vault: tokens | hvb\.[A-Za-z0-9_-]{140,160}
terraform-cloud-token | HashiCorp: HCP Terraform API tokens | [A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9]{67}
pulumi-token | Pulumi: access tokens | pul-[a-f0-9]{40}
tailscale-auth-key | Tailscale: key prefixes | tskey-auth-k[A-Za-z0-9]{10}CNTRL-[A-Za-z0-9]{32}
tailscale-api-key | Tailscale: key prefixes | tskey-api-k[A-Za-z0-9]{10}CNTRL-[A-Za-z0-9]{32}
bitwarden-access-token | Bitwarden: Secrets Manager access tokens | 0\.UUID\.[A-Za-z0-9]{30}:[A-Za-z0-9+/]{22}==
age-secret-key | age: specification | AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}
github-fine-token | GitHub: token formats | github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}
gitlab-token | GitLab: token prefixes | glpat-[A-Za-z0-9_-]{20}
gitlab-routable-token | GitLab: token prefixes, routable | glpat-[A-Za-z0-9_-]{27}\.01\.[0-9a-z]{9}
gitlab-deploy-token | GitLab: token prefixes | gldt-[A-Za-z0-9_-]{20}
gitlab-runner-token | GitLab: token prefixes | glrt-[A-Za-z0-9_-]{20}
gitlab-trigger-token | GitLab: token prefixes | glptt-[a-f0-9]{40}
gitlab-agent-token | GitLab: token prefixes | glagent-[A-Za-z0-9_-]{50}
gitlab-feed-token | GitLab: token prefixes | glft-[A-Za-z0-9_-]{20}
gitlab-scim-token | GitLab: token prefixes | glsoat-[A-Za-z0-9_-]{20}
bitbucket-app-password | Atlassian: app passwords | ATBB[A-Za-z0-9]{24}[A-F0-9]{8}
atlassian-api-token | Atlassian: API tokens | ATATT3xFfGF0[A-Za-z0-9_-]{171}=[A-F0-9]{8}
sourcegraph-token | Sourcegraph: access tokens | sgp_[a-f0-9]{16}_[a-f0-9]{40}
sonarqube-user-token | SonarQube: user tokens | squ_[a-f0-9]{40}
sonarqube-project-token | SonarQube: project tokens | sqp_[a-f0-9]{40}
jfrog-api-key | JFrog: API keys | AKCp[A-Za-z0-9]{69}
jfrog-reference-token | JFrog: reference tokens | cmVmdGtuOj[A-Za-z0-9]{54}
circleci-token | CircleCI: API tokens | CCIPAT_[A-Za-z0-9]{22}_[a-f0-9]{40}
buildkite-token | Buildkite: token security | bkua_[a-f0-9]{40}
docker-token | Docker: personal access tokens | dckr_pat_[A-Za-z0-9_-]{27}
pypi-token | PyPI: API tokens | pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{140,170}
rubygems-key | RubyGems: API keys | rubygems_[a-f0-9]{48}
crates-token | crates.io: token format | cio[A-Za-z0-9]{32}
nuget-key | NuGet: API keys | oy2[a-z2-7]{43}
clojars-token | Clojars: deploy tokens | CLOJARS_[a-z0-9]{60}
prefect-key | Prefect: API keys | pnu_[A-Za-z0-9]{36}
octopus-key | Octopus Deploy: API keys | API-[A-Z0-9]{32}
harness-token | Harness: API keys | pat\.[A-Za-z0-9_-]{22}\.[a-f0-9]{24}\.[A-Za-z0-9]{20}
rancher-token | Rancher: API keys | token-[a-z0-9]{5}:[a-z0-9]{54}
postman-key | Postman: API keys | PMAK-[a-f0-9]{24}-[a-f0-9]{34}
readme-key | ReadMe: API keys | rdme_[a-z0-9]{70}
figma-token | Figma: personal access tokens | figd_[A-Za-z0-9_-]{40}
notion-token | Notion: token prefixes | ntn_[0-9]{11}[A-Za-z0-9]{35}
notion-old-token | Notion: token prefixes | secret_[A-Za-z0-9]{43}
linear-key | Linear: API keys | lin_api_[A-Za-z0-9]{40}
asana-token | Asana: personal access tokens | 2/[0-9]{16}/[0-9]{16}:[a-f0-9]{32}
airtable-token | Airtable: personal access tokens | pat[A-Za-z0-9]{14}\.[a-f0-9]{64}
typeform-token | Typeform: personal access tokens | tfp_[A-Za-z0-9]{43}_[A-Za-z0-9]{15}
contentful-token | Contentful: personal access tokens | CFPAT-[A-Za-z0-9_-]{43}
hubspot-token | HubSpot: private apps | pat-(na1|eu1)-UUID
shopify-token | Shopify: access tokens | shpat_[a-f0-9]{32}
shopify-shared-secret | Shopify: shared secrets | shpss_[a-f0-9]{32}
shopify-custom-token | Shopify: access tokens | shpca_[a-f0-9]{32}
stripe-secret-key | Stripe: API keys | sk_live_51[A-Za-z0-9]{97}
stripe-old-key | Stripe: API keys | sk_live_[A-Za-z0-9]{24}
stripe-restricted-key | Stripe: restricted keys | rk_live_51[A-Za-z0-9]{97}
stripe-webhook-secret | Stripe: webhook signatures | whsec_[A-Za-z0-9]{32}
square-access-token | Square: access tokens | EAAA[A-Za-z0-9_-]{60}
square-application-secret | Square: OAuth | sq0csp-[A-Za-z0-9_-]{43}
square-old-token | Square: access tokens | sq0atp-[A-Za-z0-9_-]{22}
braintree-token | Braintree: access tokens | access_token\$production\$[0-9a-z]{16}\$[0-9a-f]{32}
plaid-access-token | Plaid: access tokens | access-production-UUID
razorpay-key | Razorpay: API keys | rzp_live_[A-Za-z0-9]{14}
flutterwave-key | Flutterwave: API keys | FLWSECK-[a-z0-9]{32}-X
paystack-key | Paystack: API keys | sk_live_[a-f0-9]{40}
mollie-key | Mollie: API keys | live_[A-Za-z0-9]{30}
easypost-key | EasyPost: API keys | EZAK[A-Za-z0-9]{54}
shippo-token | Shippo: authentication | shippo_live_[a-f0-9]{40}
duffel-token | Duffel: access tokens | duffel_live_[A-Za-z0-9_-]{43}
lob-key | Lob: API keys | live_[a-f0-9]{35}
slack-bot-token | Slack: token types | xoxb-[0-9]{12}-[0-9]{13}-[A-Za-z0-9]{24}
slack-user-token | Slack: token types | xoxp-[0-9]{12}-[0-9]{13}-[0-9]{13}-[a-f0-9]{32}
slack-app-token | Slack: token types | xapp-1-A[A-Z0-9]{10}-[0-9]{13}-[a-f0-9]{64}
slack-webhook | Slack: incoming webhooks | https://hooks\.slack\.com/services/T[A-Z0-9]{10}/B[A-Z0-9]{10}/[A-Za-z0-9]{24}
discord-bot-token | Discord: bot tokens | MT[A-Za-z0-9]{24}\.G[A-Za-z0-9_-]{5}\.[A-Za-z0-9_-]{38}
discord-webhook | Discord: webhooks | https://discord\.com/api/webhooks/[0-9]{19}/[A-Za-z0-9_-]{68}
telegram-bot-token | Telegram: Bot API, authorizing | [0-9]{10}:AA[A-Za-z0-9_-]{33}
twilio-api-key | Twilio: API keys | SK[a-f0-9]{32}
sendgrid-key | SendGrid: API keys | SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}
mailgun-key | Mailgun: API keys | key-[a-f0-9]{32}
mailchimp-key | Mailchimp: API keys | [a-f0-9]{32}-us[1-9]
brevo-key | Brevo: API keys | xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}
resend-key | Resend: API keys | re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}
facebook-token | Meta: access tokens | EAA[A-Za-z0-9]{170,190}
twitter-bearer | X: bearer tokens | AAAAAAAAAAAAAAAAAAAAA[A-Za-z0-9]{9}%2F[A-Za-z0-9]{36}%3D[A-Za-z0-9]{42}
dropbox-token | Dropbox: OAuth guide | sl\.[A-Za-z0-9_-]{138}
mapbox-secret | Mapbox: tokens | sk\.eyJ1Ijoi[A-Za-z0-9]{70}\.[A-Za-z0-9_-]{22}
onesignal-key | OneSignal: keys | os_v2_app_[a-z2-7]{103}
openai-project-key | OpenAI: API keys | sk-proj-[A-Za-z0-9_-]{74}T3BlbkFJ[A-Za-z0-9_-]{74}
openai-old-key | OpenAI: API keys | sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}
anthropic-key | Anthropic: API keys | sk-ant-api03-[A-Za-z0-9_-]{93}AA
huggingface-token | Hugging Face: access tokens | hf_[A-Za-z]{34}
replicate-token | Replicate: API tokens | r8_[A-Za-z0-9]{37}
groq-key | Groq: API keys | gsk_[A-Za-z0-9]{52}
xai-key | xAI: API keys | xai-[A-Za-z0-9]{80}
perplexity-key | Perplexity: API keys | pplx-[A-Za-z0-9]{48}
pinecone-key | Pinecone: API keys | pcsk_[A-Za-z0-9]{5,6}_[A-Za-z0-9]{63}
langsmith-key | LangChain: LangSmith API keys | lsv2_pt_[a-f0-9]{32}_[a-f0-9]{10}
openrouter-key | OpenRouter: API keys | sk-or-v1-[a-f0-9]{64}
nvidia-key | NVIDIA: NGC API keys | nvapi-[A-Za-z0-9_-]{64}
elevenlabs-key | ElevenLabs: API keys | sk_[a-f0-9]{48}
tavily-key | Tavily: API keys | tvly-[A-Za-z0-9]{32}
jina-key | Jina AI: API keys | jina_[A-Za-z0-9_-]{60}
firecrawl-key | Firecrawl: API keys | fc-[a-f0-9]{32}
langfuse-key | Langfuse: API keys | sk-lf-UUID
newrelic-user-key | New Relic: API keys | NRAK-[A-Z0-9]{27}
newrelic-license | New Relic: license keys | [a-f0-9]{36}NRAL
dynatrace-token | Dynatrace: access tokens | dt0c01\.[A-Z2-7]{24}\.[A-Z2-7]{64}
sentry-user-token | Sentry: auth tokens | sntryu_[a-f0-9]{64}
honeycomb-key | Honeycomb: API keys | hcaik_01[a-z0-9]{58}
posthog-key | PostHog: personal API keys | phx_[A-Za-z0-9]{43}
launchdarkly-sdk-key | LaunchDarkly: keys | sdk-UUID
launchdarkly-api-key | LaunchDarkly: access tokens | api-UUID
axiom-token | Axiom: tokens | xaat-UUID
elastic-cloud-key | Elastic: Cloud API keys | essu_[A-Za-z0-9+/]{88}==
confluent-secret | Confluent: API keys | cflt[A-Za-z0-9+/]{60}
okta-token | Okta: API tokens | 00[A-Za-z0-9_-]{40}
apify-token | Apify: API tokens | apify_api_[A-Za-z0-9]{36}
checkly-key | Checkly: API keys | cu_[a-f0-9]{32}
persona-key | Persona: API keys | persona_production_UUID
inngest-key | Inngest: signing keys | signkey-prod-[a-f0-9]{64}
linkedin-secret | LinkedIn: application secrets | WPL_AP1\.[A-Za-z0-9]{16}\.[A-Za-z0-9+/]{6}==
ethereum-key | Ethereum: private keys | 0x[a-f0-9]{64}
"""
PEM = r"-----BEGIN {0}-----\n([A-Za-z0-9+/=]{{1,64}}\n)+-----END {0}-----"
TOKEN = r"[A-Za-z0-9_-]{20,}"
MADE = [
    ("github-token", "GitHub: token formats", r"ghp_[A-Za-z0-9]{36}", by.checked("ghp_")),
    ("github-oauth-token", "GitHub: token formats", r"gho_[A-Za-z0-9]{36}", by.checked("gho_")),
    ("github-app-token", "GitHub: token formats", r"ghs_[A-Za-z0-9]{36}", by.checked("ghs_")),
    ("github-refresh-token", "GitHub: token formats", r"ghr_[A-Za-z0-9]{36}", by.checked("ghr_")),
    ("npm-token", "npm: new token format", r"npm_[A-Za-z0-9]{36}", by.checked("npm_")),
    ("grafana-service-token", "Grafana: service accounts", r"glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}", by.grafana),
    ("grafana-cloud-token", "Grafana: access policies", "glc_" + TOKEN, by.service_token("glc_", 24)),
    ("onepassword-service-token", "1Password: service accounts", "ops_" + TOKEN, by.service_token("ops_", 160)),
    ("sentry-org-token", "Sentry: auth tokens", "sntrys_" + TOKEN, by.service_token("sntrys_", 48)),
    ("signed-web-token", "IETF: RFC 7519", rf"{TOKEN}\.{TOKEN}\.{TOKEN}", by.jwt),
    ("bitcoin-wallet-key", "Bitcoin: wallet import format", r"5[HJK][1-9A-HJ-NP-Za-km-z]{49}", by.wallet_key),
    ("pem-rsa-key", "IETF: RFC 7468, 8017", PEM.format("RSA PRIVATE KEY"), by.key_file("RSA PRIVATE KEY", 1180)),
    ("pem-key", "IETF: RFC 5958", PEM.format("PRIVATE KEY"), by.key_file("PRIVATE KEY", 131)),
    ("pem-ec-key", "IETF: RFC 5915", PEM.format("EC PRIVATE KEY"), by.key_file("EC PRIVATE KEY", 114)),
    ("pem-openssh-key", "OpenSSH: PROTOCOL.key", PEM.format("OPENSSH PRIVATE KEY"),
     by.key_file("OPENSSH PRIVATE KEY", 340)),
]  # fmt: skip


def _rows(table: str) -> list[list[str]]:
    return [line.split(" | ", 2) for line in table.strip().splitlines()]


PREFIXED = [Format(name, source, pattern.replace("UUID", UUID)) for name, source, pattern in _rows(TABLE)]
PREFIXED += [Format(name, source, pattern, make=make) for name, source, pattern, make in MADE]
KEY_FILES = {"pem-rsa-key", "pem-key", "pem-ec-key", "pem-openssh-key"}
