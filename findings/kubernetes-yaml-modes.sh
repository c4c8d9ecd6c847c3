#!/usr/bin/env bash
# @kubernetes/client-node 2.0.1 (Node.js) and kubernetes 37.0.2 (Python): a manifest with `defaultMode: 0400`, as the documentation of
# Kubernetes has modes of files.
# Expected: `loadYaml` gives 256, the octal number, as kubectl does, which reads YAML 1.1, and as Python does for `create_from_yaml`.
# Seen: Node.js gives 400, by YAML 1.2. As a mode that is 0620: the secret that only its owner should read can be written by the group.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund @kubernetes/client-node@2.0.1
python3 -m venv venv
venv/bin/pip install --quiet kubernetes==37.0.2
cat > volume.yaml <<'TEXT'
apiVersion: v1
kind: Pod
metadata: { name: modes }
spec:
  containers: [{ name: main, image: example }]
  volumes:
    - name: keys
      secret: { secretName: keys, defaultMode: 0400 }
TEXT
cat > mode.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import { loadYaml } from '@kubernetes/client-node';
console.log('Node.js', loadYaml(readFileSync('volume.yaml', 'utf8')).spec.volumes[0].secret.defaultMode);
SCRIPT
cat > mode.py <<'SCRIPT'
from unittest.mock import patch
from kubernetes import client, utils
with patch.object(client.CoreV1Api, "create_namespaced_pod") as create:
    utils.create_from_yaml(client.ApiClient(), "volume.yaml")
    print("Python", create.call_args.kwargs["body"]["spec"]["volumes"][0]["secret"]["defaultMode"])
SCRIPT
output=$(node mode.js && venv/bin/python mode.py)
echo "$output"
grep -qxF 'Node.js 400' <<<"$output"
grep -qxF 'Python 256' <<<"$output"
echo 'as described'
