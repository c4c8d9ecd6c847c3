#!/usr/bin/env bash
# jsonschema 4.26.0 (Python): prices in JSON and a schema with `multipleOf: 0.01` for whole cents.
# Expected: all prices from 0.01 to 100.00 are valid, since 19.99 is 1999 times 0.01, as for fastjsonschema 2.22.3 and jsonschema-rs 0.60.3
# (Python).
# Seen: 1363 of them are "not a multiple of 0.01", among them 0.07 and 19.99, since it divides floats.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet jsonschema==4.26.0 fastjsonschema==2.22.3 jsonschema-rs==0.60.3
cat > prices.py <<'SCRIPT'
import json
import fastjsonschema, jsonschema, jsonschema_rs
SCHEMA = {"type": "number", "multipleOf": 0.01}
PRICES = json.loads("[" + ",".join(f"{cents // 100}.{cents % 100:02}" for cents in range(1, 10_001)) + "]")
validate = fastjsonschema.compile(SCHEMA)
def accepts(price):
    try:
        validate(price)
        return True
    except fastjsonschema.JsonSchemaException:
        return False
for name, is_valid in {
    "jsonschema": jsonschema.Draft202012Validator(SCHEMA).is_valid,
    "fastjsonschema": accepts,
    "jsonschema-rs": jsonschema_rs.validator_for(SCHEMA).is_valid,
}.items():
    refused = [price for price in PRICES if not is_valid(price)]
    print(name, len(refused), refused[:4], 19.99 in refused)
SCRIPT
output=$(venv/bin/python prices.py)
echo "$output"
diff - <(echo "$output") <<'LINES'
jsonschema 1363 [0.07, 0.14, 0.28, 0.29] True
fastjsonschema 0 [] False
jsonschema-rs 0 [] False
LINES
echo 'as described'
