#!/usr/bin/env bash
# liquidjs 10.30.1 (Node.js), python-liquid 2.3.6 and osteele/liquid 1.6.0 (Go): prices in templates of Liquid, as shops and newsletters
# have them.
# Expected: the results of Shopify's Liquid, which calculates in decimals, rounds halves away from zero and divides whole numbers down:
# 7.25, 0.3, 3, -3, 0.13, 3, -4 and 3.0.
# Seen: liquidjs and Go calculate in binary, so that 7.25 is printed as 7.249999999999999; liquidjs divides 7 by 2 to 3.5. Python rounds
# halves to the even digit, 2.5 to 2 and 0.125 to 0.12. Go rounds -2.5 to -2 and divides -7 by 2 to -3. Each is right where another is
# not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund liquidjs@10.30.1
python3 -m venv venv
venv/bin/pip install --quiet python-liquid==2.3.6
export GOPATH="$folder/go" GOFLAGS='-modcacherw -mod=mod'
cat > template <<'TEMPLATE'
{{ 0.0725 | times: 100 }} {{ 0.1 | plus: 0.2 }} {{ 2.5 | round }} {{ -2.5 | round }} {{ 0.125 | round: 2 }} {{ 7 | divided_by: 2 }} {{ -7 | divided_by: 2 }} {{ 2 | times: 1.5 }}
TEMPLATE
cat > render.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import { Liquid } from 'liquidjs';
console.log('liquidjs', await new Liquid().parseAndRender(readFileSync('template', 'utf8').trim()));
SCRIPT
cat > render.py <<'SCRIPT'
import pathlib, liquid
print("python-liquid", liquid.Environment().from_string(pathlib.Path("template").read_text().strip()).render())
SCRIPT
cat > go.mod <<'MODULE'
module finding
go 1.24
require github.com/osteele/liquid v1.6.0
MODULE
cat > main.go <<'PROGRAM'
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/osteele/liquid"
)

func main() {
	template, err := os.ReadFile("template")
	if err != nil {
		panic(err)
	}
	text, problem := liquid.NewEngine().ParseAndRenderString(strings.TrimSpace(string(template)), nil)
	if problem != nil {
		panic(problem)
	}
	fmt.Println("osteele/liquid", text)
}
PROGRAM
go build -o program . 2>/dev/null
output=$(node render.js && venv/bin/python render.py && ./program)
echo "$output"
diff - <(echo "$output") <<'LINES'
liquidjs 7.249999999999999 0.30000000000000004 3 -3 0.13 3.5 -3.5 3
python-liquid 7.25 0.3 2 -2 0.12 3 -4 3.0
osteele/liquid 7.249999999999999 0.30000000000000004 3 -2 0.13 3 -3 3
LINES
echo 'as described'
