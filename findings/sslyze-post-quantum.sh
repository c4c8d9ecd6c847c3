#!/usr/bin/env bash
# sslyze 6.3.1 (Python) and a TLS 1.3 server of Node.js 24.21.0 with the key exchange of today's browsers, X25519MLKEM768
# (draft-ietf-tls-ecdhe-mlkem).
# Expected: sslyze lists the group among the curves that the server supports, or says that it does not test it.
# Seen: of a server that offers it and X25519, it lists X25519 alone. Of a server with this group alone, to which Node.js connects, it says
# that the TLS configuration is not supported, since its OpenSSL does not have the group. So no report shows whether a server is ready for
# post-quantum clients.
set -euo pipefail
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || { kill "$server"; wait "$server" 2>/dev/null || true; }; rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund node@24.21.0
python3 -m venv venv
venv/bin/pip install --quiet sslyze==6.3.1
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -days 30 -subj /CN=localhost 2>/dev/null
cat > server.js <<'SCRIPT'
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:tls';
const ports = [];
for (const ecdhCurve of ['X25519MLKEM768:X25519', 'X25519MLKEM768']) {
  const options = { key: readFileSync('key.pem'), cert: readFileSync('certificate.pem'), minVersion: 'TLSv1.3', ecdhCurve };
  const server = createServer(options, (socket) => socket.on('error', () => {}).end('hello'));
  server.on('tlsClientError', () => {});
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address();
  ports.push(port);
  const client = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await new Promise((done) => client.once('secureConnect', done));
  console.log('Node.js', ecdhCurve, client.getEphemeralKeyInfo().name);
  client.destroy();
}
writeFileSync('ports.part', ports.join(' '));
const { renameSync } = await import('node:fs');
renameSync('ports.part', 'ports');
SCRIPT
cat > scan.py <<'SCRIPT'
import sys
from sslyze import ScanCommand, Scanner, ServerNetworkLocation, ServerScanRequest
for port in sys.argv[1:]:
    scanner = Scanner()
    location = ServerNetworkLocation("localhost", int(port), "127.0.0.1")
    scanner.queue_scans([ServerScanRequest(location, scan_commands={ScanCommand.ELLIPTIC_CURVES})])
    for result in scanner.get_results():
        if result.scan_result is None:
            print("sslyze", result.scan_status.name, result.connectivity_error_trace.exc_type.__name__)
        else:
            curves = result.scan_result.elliptic_curves.result
            print("sslyze", *[curve.name for curve in curves.supported_curves])
            print("sslyze knows ML-KEM", any("KEM" in curve.name.upper() for curve in curves.rejected_curves))
SCRIPT
node_modules/.bin/node server.js > server.log &
server=$!
until [ -e ports ]; do kill -0 "$server"; sleep 0.2; done
output=$(cat server.log && venv/bin/python -W ignore scan.py $(cat ports) 2>/dev/null)
echo "$output"
grep -qx 'Node.js X25519MLKEM768:X25519 X25519MLKEM768' <<<"$output"
grep -qx 'Node.js X25519MLKEM768 X25519MLKEM768' <<<"$output"
grep -qx 'sslyze X25519' <<<"$output"
grep -qx 'sslyze knows ML-KEM False' <<<"$output"
grep -qx 'sslyze ERROR_NO_CONNECTIVITY ServerTlsConfigurationNotSupported' <<<"$output"
echo 'as described'
