#!/usr/bin/env bash
# @kubernetes/client-node 2.0.1 (Node.js): `topNodes` with a running pod that asks for `1.5Gi` of memory, and kubernetes 37.0.2 (Python).
# Expected: 1,610,612,736 bytes are added up, as `parse_quantity` of Python has it; decimal fractions are valid before all suffixes of
# quantities.
# Seen: the call ends with a SyntaxError, "Cannot convert 1.5 to a BigInt", so that a single pod hides the load of all nodes. `1536Mi`, the
# same amount, is added up, and fractions of `cpu` too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund @kubernetes/client-node@2.0.1
python3 -m venv venv
venv/bin/pip install --quiet kubernetes==37.0.2
cat > top.js <<'SCRIPT'
import { topNodes } from '@kubernetes/client-node';
for (const memory of ['1536Mi', '1.5Gi']) {
  const resources = { requests: { cpu: '0.5', memory }, limits: {} };
  const pod = { spec: { nodeName: 'node', containers: [{ resources }] }, status: { phase: 'Running' } };
  const node = { metadata: { name: 'node' }, status: { allocatable: { cpu: '2', memory: '8Gi' } } };
  const api = { listNode: async () => ({ items: [node] }), listPodForAllNamespaces: async () => ({ items: [pod] }) };
  try {
    const [status] = await topNodes(api);
    console.log('Node.js', memory, String(status.Memory.RequestTotal));
  } catch (error) {
    console.log('Node.js', memory, String(error));
  }
}
SCRIPT
cat > quantity.py <<'SCRIPT'
from kubernetes.utils.quantity import parse_quantity
for memory in ("1536Mi", "1.5Gi"):
    print("Python", memory, int(parse_quantity(memory)))
SCRIPT
output=$(node top.js && venv/bin/python quantity.py)
echo "$output"
grep -qxF 'Node.js 1536Mi 1610612736' <<<"$output"
grep -qxF 'Node.js 1.5Gi SyntaxError: Cannot convert 1.5 to a BigInt' <<<"$output"
for memory in 1536Mi 1.5Gi; do
  grep -qxF "Python $memory 1610612736" <<<"$output"
done
echo 'as described'
