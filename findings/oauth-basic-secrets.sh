#!/usr/bin/env bash
# Authlib 1.9.10 and requests-oauthlib 2.0.0 (Python) with oidc-provider 9.13.3 (Node.js): a client secret in Base64, which the
# client sends with HTTP Basic authentication (client_secret_basic).
# Expected: the token, because both sides are libraries for OAuth 2.0.
# Seen: "invalid_client" as soon as the secret has a plus sign. RFC 6749, section 2.3.1, wants name and secret form-encoded before
# they are joined; the server decodes them, but these clients do not encode. With an encoded secret they get the token.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund oidc-provider@9.13.3 node@24.21.0
python3 -m venv venv
venv/bin/pip install --quiet authlib==1.9.10 requests-oauthlib==2.0.0 requests==2.34.2
cat > ask.py <<'SCRIPT'
import os, sys
from authlib.integrations.requests_client import OAuth2Session
from oauthlib.oauth2 import BackendApplicationClient
from requests_oauthlib import OAuth2Session as RequestsOAuth2Session
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"  # The server is on the loopback interface.
address, secret = sys.argv[1:]
def attempt(name, ask):
    try:
        print(name, ask()["token_type"])
    except Exception as error:
        print(name, error.error)
attempt(f"{secret} Authlib", lambda: OAuth2Session("me", secret).fetch_token(address, grant_type="client_credentials"))
session = RequestsOAuth2Session(client=BackendApplicationClient("me"))
attempt(f"{secret} requests-oauthlib", lambda: session.fetch_token(address, client_id="me", client_secret=secret))
SCRIPT
cat > serve.js <<'SCRIPT'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';
let provider;
const server = createServer((request, response) => provider.callback()(request, response)).listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${server.address().port}`;
const client = { client_id: 'me', grant_types: ['client_credentials'], redirect_uris: [], response_types: [] };
for (const client_secret of ['q8-T_4mVQpF2ab', 'q8+T/4mVQpF2ab==']) {
  provider = new Provider(origin, {
    clients: [{ ...client, client_secret }],
    features: { clientCredentials: { enabled: true } },
  });
  for (const secret of new Set([client_secret, encodeURIComponent(client_secret)]))
    await once(spawn('venv/bin/python', ['ask.py', `${origin}/token`, secret], { stdio: 'inherit' }), 'exit');
}
server.close();
server.closeAllConnections();
SCRIPT
output=$(npx node serve.js 2>/dev/null | grep -v '^oidc-provider')
echo "$output"
for client in Authlib requests-oauthlib; do
  grep -qxF "q8-T_4mVQpF2ab $client Bearer" <<<"$output"
  grep -qxF "q8+T/4mVQpF2ab== $client invalid_client" <<<"$output"
  grep -qxF "q8%2BT%2F4mVQpF2ab%3D%3D $client Bearer" <<<"$output"
done
echo 'as described'
