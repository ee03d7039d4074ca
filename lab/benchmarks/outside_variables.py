"""Credentials without a prefix: random values that only their variable's name gives away, and what people choose.

`TABLE`: name | whose words | expression | names of variables, as the vendors' own pages call them. The names are words
joined by `_`; a style writes them in its language's way. `NEUTRAL` names say nothing: a share of all plantings has one.
"""

# ruff: noqa: E501 (one row a line)

from outside_draw import human_password
from outside_formats import UUID, Format, _rows

NEUTRAL_TEXT = """
value item data entry param default_value conf setting first current result source target base ref
field option blob content argument node record extra_value payload sample initial left handle
known_value other constant
"""
NEUTRAL = NEUTRAL_TEXT.split()
NOUNS = ["token", "key", "api_key", "secret", "access_token", "auth_token", "credential"]

TABLE = r"""
aws-secret-access-key | AWS: access keys | [A-Za-z0-9+/]{40} | aws_secret_access_key aws_secret_key
datadog-api-key | Datadog: API and application keys | [a-f0-9]{32} | dd_api_key datadog_api_key
datadog-app-key | Datadog: API and application keys | [a-f0-9]{40} | dd_app_key datadog_app_key
algolia-admin-key | Algolia: API keys | [a-f0-9]{32} | algolia_admin_key algolia_api_key
cloudflare-api-token | Cloudflare: API tokens | [A-Za-z0-9_-]{40} | cloudflare_api_token cf_api_token
cloudflare-global-key | Cloudflare: global API key | [a-f0-9]{37} | cloudflare_api_key
fastly-token | Fastly: API tokens | [A-Za-z0-9_-]{32} | fastly_api_token fastly_key
travis-token | Travis CI: API tokens | [A-Za-z0-9_-]{22} | travis_token
codecov-token | Codecov: repository tokens | UUID | codecov_token
snyk-token | Snyk: API tokens | UUID | snyk_token
heroku-old-key | Heroku: API keys | UUID | heroku_api_key
postmark-token | Postmark: server tokens | UUID | postmark_server_token postmark_api_token
consul-token | HashiCorp Consul: ACL tokens | UUID | consul_http_token
nomad-token | HashiCorp Nomad: ACL tokens | UUID | nomad_token
splunk-collector-token | Splunk: HTTP event collector | UUID | splunk_hec_token
loggly-token | Loggly: customer tokens | UUID | loggly_token
opsgenie-key | Opsgenie: API keys | UUID | opsgenie_api_key
scaleway-secret-key | Scaleway: API keys | UUID | scw_secret_key
twilio-auth-token | Twilio: auth tokens | [a-f0-9]{32} | twilio_auth_token
spotify-secret | Spotify: apps | [a-f0-9]{32} | spotify_client_secret
facebook-app-secret | Meta: app secrets | [a-f0-9]{32} | facebook_app_secret fb_app_secret
slack-signing-secret | Slack: verifying requests | [a-f0-9]{32} | slack_signing_secret
rollbar-token | Rollbar: access tokens | [a-f0-9]{32} | rollbar_access_token
bugsnag-key | Bugsnag: API keys | [a-f0-9]{32} | bugsnag_api_key
openweather-key | OpenWeather: API keys | [a-f0-9]{32} | openweather_api_key
infura-secret | Infura: API key secrets | [a-f0-9]{32} | infura_project_secret
azure-openai-key | Microsoft: Azure OpenAI keys | [a-f0-9]{32} | azure_openai_api_key
twitter-consumer-secret | X: consumer keys | [A-Za-z0-9]{50} | twitter_consumer_secret twitter_api_secret
discord-client-secret | Discord: OAuth2 | [A-Za-z0-9_-]{32} | discord_client_secret
paypal-secret | PayPal: REST API credentials | E[A-Za-z0-9_-]{79} | paypal_client_secret
plaid-secret | Plaid: API keys | [a-f0-9]{30} | plaid_secret
binance-secret | Binance: API keys | [A-Za-z0-9]{64} | binance_api_secret binance_secret_key
kraken-secret | Kraken: API keys | [A-Za-z0-9+/]{86}== | kraken_private_key kraken_api_secret
zendesk-token | Zendesk: API tokens | [A-Za-z0-9]{40} | zendesk_api_token
trello-key | Trello: API keys | [a-f0-9]{32} | trello_api_key
trello-token | Trello: tokens | [a-f0-9]{64} | trello_token
bitbucket-client-secret | Atlassian: OAuth consumers | [A-Za-z0-9]{32} | bitbucket_client_secret
sumologic-key | Sumo Logic: access keys | [A-Za-z0-9]{64} | sumologic_access_key
pagerduty-key | PagerDuty: API keys | [A-Za-z0-9_+-]{20} | pagerduty_api_key
vultr-key | Vultr: API keys | [A-Z0-9]{36} | vultr_api_key
linode-token | Linode: personal access tokens | [a-f0-9]{64} | linode_token linode_api_token
hetzner-token | Hetzner Cloud: API tokens | [A-Za-z0-9]{64} | hcloud_token
ovh-secret | OVHcloud: API keys | [A-Za-z0-9]{32} | ovh_application_secret
godaddy-secret | GoDaddy: API keys | [A-Za-z0-9]{22} | godaddy_api_secret
cohere-key | Cohere: API keys | [A-Za-z0-9]{40} | cohere_api_key
mistral-key | Mistral: API keys | [A-Za-z0-9]{32} | mistral_api_key
deepgram-key | Deepgram: API keys | [a-f0-9]{40} | deepgram_api_key
wandb-key | Weights and Biases: API keys | [a-f0-9]{40} | wandb_api_key
etherscan-key | Etherscan: API keys | [A-Z0-9]{34} | etherscan_api_key
auth0-client-secret | Auth0: application credentials | [A-Za-z0-9_-]{64} | auth0_client_secret
okta-client-secret | Okta: client secrets | [A-Za-z0-9_-]{64} | okta_client_secret oidc_client_secret
sentry-old-token | Sentry: auth tokens | [a-f0-9]{64} | sentry_auth_token
circleci-old-token | CircleCI: API tokens | [a-f0-9]{40} | circle_token circleci_token
gitea-token | Gitea: access tokens | [a-f0-9]{40} | gitea_token
jenkins-token | Jenkins: API tokens | 11[a-f0-9]{32} | jenkins_api_token jenkins_token
alibaba-secret | Alibaba Cloud: AccessKey pairs | [A-Za-z0-9]{30} | alicloud_secret_key aliyun_access_key_secret
tencent-secret-key | Tencent Cloud: API keys | [A-Za-z0-9]{32} | tencentcloud_secret_key
django-secret | Django: SECRET_KEY | [a-z0-9!@#%^*(_=+)-]{50} | secret_key
token-secret-hex | common: openssl rand -hex 32 | [a-f0-9]{64} | jwt_secret token_secret
session-secret | common: openssl rand -base64 32 | [A-Za-z0-9+/]{43}= | session_secret cookie_secret
encryption-key | common: random 32 bytes | [A-Za-z0-9+/]{43}= | encryption_key data_encryption_key
fernet-key | cryptography: Fernet | [A-Za-z0-9_-]{43}= | fernet_key
rails-secret-base | Rails: secret_key_base | [a-f0-9]{128} | secret_key_base
signing-key-long | common: openssl rand -hex 64 | [a-f0-9]{128} | hmac_key signing_key
webhook-secret | common: random letters and digits | [A-Za-z0-9]{24} | webhook_secret
short-api-key | common: random letters and digits | [A-Za-z0-9]{16} | api_key
password-symbols | common: password managers | [A-Za-z0-9!#%*+.:=?@^_~-]{20} | db_password admin_password smtp_pass
password-random | common: password managers | [A-Za-z0-9]{16} | database_password mysql_password root_password
passphrase-random | common: password managers | [A-Za-z0-9_-]{28} | key_passphrase keystore_password
license-key | common: product keys | [A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5} | license_key
client-credential | common: OAuth 2.0 clients | [A-Za-z0-9]{48} | client_secret oauth_client_secret
service-token | common: internal services | [A-Za-z0-9_-]{32} | service_token bearer_token internal_api_token
"""

LONG_TABLE = r"""
aws-session-token | AWS STS: temporary credentials | IQoJb3JpZ2luX2Vj[A-Za-z0-9+/]{600,900}== | aws_session_token
azure-refresh-token | Microsoft: refresh tokens | 0\.A[A-Za-z0-9_-]{60}\.[A-Za-z0-9_-]{600,800} | azure_refresh_token
service-account-base64 | Google Cloud: service account keys | [A-Za-z0-9+/]{1200,1600} | gcp_credentials_base64
keystore-base64 | common: signing of Android apps | [A-Za-z0-9+/]{1400,1800}== | signing_keystore_base64
private-key-one-line | common: keys in variables | MIIEv[A-Za-z0-9+/]{1590} | private_key rsa_private_key
kubeconfig-base64 | Kubernetes: kubeconfig in CI | YXBpVmVyc2lvbjogdjEK[A-Za-z0-9+/]{900,1300} | kube_config_data
saml-key | common: SAML single sign-on | MIIEowIBAAKCAQEA[A-Za-z0-9+/]{300,600} | saml_private_key
signing-secret-512 | common: openssl rand -hex 256 | [a-f0-9]{512} | jwt_signing_secret
"""


def _formats(table: str, group: str) -> list[Format]:
    found = []
    for name, source, rest in _rows(table):
        pattern, names = rest.rsplit(" | ", 1)
        found.append(Format(name, source, pattern.replace("UUID", UUID), group, tuple(names.split())))
    return found


NAMED = _formats(TABLE, "named")
LONG = _formats(LONG_TABLE, "named")
CHOSEN = Format(
    "human-password", "common: what people choose", r"[A-Za-z0-9!#*?@_-]{6,30}", "chosen",
    ("password", "db_password", "passwd", "pwd", "admin_password", "smtp_password", "ftp_pass", "user_password"),
    human_password,
)  # fmt: skip
