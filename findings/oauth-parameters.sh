#!/usr/bin/env bash
# oauth-1.0a 2.2.6 (Node.js): the text that OAuth 1.0 signs, for the request of RFC 5849, section 3.4.1.3.1, whose parameter a3 is both in
# the address and in the form, and for addresses with an equals sign or a plus sign in a value and with the default port.
# Expected: both a3 and the name c%40, as in section 3.4.1.3.2; the whole value; a space for the plus sign, as in a form; and no port
# (section 3.4.1.2).
# Seen: one a3, the name c%2540, the value up to its second equals sign, %2B for the plus sign, and the port, so that a server that follows
# the RFC refuses the signature.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund oauth-1.0a@2.2.6
cat > sign.js <<'SCRIPT'
import OAuth from 'oauth-1.0a';
const oauth = new OAuth({ consumer: { key: 'key', secret: 'secret' }, signature_method: 'HMAC-SHA1', hash_function: (text) => text });
const base = (request) => {
  const [, address, parameters] = oauth.authorize(request).oauth_signature.split('&').map(decodeURIComponent);
  return `${address} ${parameters.split('&').filter((it) => !it.startsWith('oauth_')).join('&')}`;
};
console.log(base({ method: 'POST', url: 'http://example.com/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b', data: { c2: '', a3: '2 q' } }));
console.log(base({ method: 'GET', url: 'http://example.com/request?filter=a=b' }));
console.log(base({ method: 'GET', url: 'http://example.com/request?q=a+b' }));
console.log(base({ method: 'GET', url: 'http://example.com:80/request?q=a' }));
SCRIPT
output=$(node sign.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
http://example.com/request a2=r%20b&a3=a&b5=%3D%253D&c%2540=&c2=
http://example.com/request filter=a
http://example.com/request q=a%2Bb
http://example.com:80/request q=a
LINES
echo 'as described'
