#!/usr/bin/env bash
# json-logic-engine 5.0.7 (Node.js) and jsonlogic 3.5.1 (Go): the operation `missing` of JsonLogic, with which a form and its server check
# that all fields are filled.
# Expected: an empty text is missing, as for json-logic-js 2.0.5, whose author defined JsonLogic, and json-logic-qubit 0.9.1 (Python).
# Seen: for the other two it is there, so that a form with an empty name passes on one side and not on the other. A field that is null is
# missing for `missing_some` of all but json-logic-engine. The Go library finds 1 in a list of "1", and an object without members is false
# for all but json-logic-js.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund json-logic-js@2.0.5 json-logic-engine@5.0.7
python3 -m venv venv
venv/bin/pip install --quiet json-logic-qubit==0.9.1
export GOPATH="$folder/go" GOFLAGS='-modcacherw -mod=mod'
cat > rules.json <<'RULES'
[[{"missing":["name","city"]},{"name":"","city":"Graz"}],[{"missing_some":[1,["name","city"]]},{"name":null}],
[{"in":[1,{"var":"codes"}]},{"codes":["1"]}],[{"!!":[{"var":"options"}]},{"options":{}}],[{"missing":["name"]},{"name":"Anna"}]]
RULES
cat > rules.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import { LogicEngine } from 'json-logic-engine';
import jsonLogic from 'json-logic-js';
const engine = new LogicEngine();
const rules = JSON.parse(readFileSync('rules.json', 'utf8'));
console.log('json-logic-js', ...rules.map(([rule, data]) => JSON.stringify(jsonLogic.apply(rule, data))));
console.log('json-logic-engine', ...rules.map(([rule, data]) => JSON.stringify(engine.run(rule, data))));
SCRIPT
cat > rules.py <<'SCRIPT'
import json
from json_logic import jsonLogic
results = [jsonLogic(rule, data) for rule, data in json.load(open("rules.json"))]
print("json-logic-qubit", *(json.dumps(it, separators=(",", ":")) for it in results))
SCRIPT
cat > go.mod <<'MODULE'
module finding
go 1.24
require github.com/diegoholiveira/jsonlogic/v3 v3.5.1
MODULE
cat > main.go <<'PROGRAM'
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/diegoholiveira/jsonlogic/v3"
)

func main() {
	var rules [][]any
	file, err := os.ReadFile("rules.json")
	if err == nil {
		err = json.Unmarshal(file, &rules)
	}
	if err != nil {
		panic(err)
	}
	fmt.Print("jsonlogic.go")
	for _, rule := range rules {
		result, err := jsonlogic.ApplyInterface(rule[0], rule[1])
		if err != nil {
			panic(err)
		}
		text, _ := json.Marshal(result)
		fmt.Print(" ", string(text))
	}
	fmt.Println()
}
PROGRAM
go build -o program . 2>/dev/null
output=$(node rules.js && venv/bin/python rules.py && ./program)
echo "$output"
diff - <(echo "$output") <<'LINES'
json-logic-js ["name"] ["name","city"] false true []
json-logic-engine [] [] false false []
json-logic-qubit ["name"] ["name","city"] false false []
jsonlogic.go [] ["name","city"] true false []
LINES
echo 'as described'
