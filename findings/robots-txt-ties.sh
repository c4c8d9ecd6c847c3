#!/usr/bin/env bash
# github.com/temoto/robotstxt 1.1.2 (Go): robots.txt with rules of the same or nearly the same length.
# Expected: RFC 9309, section 2.2.2: the match with the most octets is used, and of an allow and a disallow that are equivalent the allow.
# protego 0.7.0 (Python) does so.
# Seen: of equal rules the first one, so that a page is forbidden that RFC 9309 allows; and a star or a dot of a rule counts as more than
# one octet, since it measures its regular expression, so that `Disallow: /*.pdf` wins over the longer `Allow: /docs/a`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH="$folder/go" GOFLAGS='-modcacherw -mod=mod'
python3 -m venv venv
venv/bin/pip install --quiet protego==0.7.0
cat > tests.json <<'TESTS'
[["Disallow: /page\nAllow: /page", "/page"], ["Disallow: /*.pdf\nAllow: /docs/a", "/docs/a.pdf"], ["Disallow: /docs\nAllow: /docs/a", "/docs/a.pdf"]]
TESTS
cat > go.mod <<'MODULE'
module finding
go 1.24
require github.com/temoto/robotstxt v1.1.2
MODULE
cat > main.go <<'PROGRAM'
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/temoto/robotstxt"
)

func main() {
	var tests [][2]string
	if err := json.NewDecoder(os.Stdin).Decode(&tests); err != nil {
		panic(err)
	}
	for _, test := range tests {
		data, err := robotstxt.FromString("User-agent: *\n" + test[0] + "\n")
		if err != nil {
			panic(err)
		}
		fmt.Println("Go", data.TestAgent(test[1], "ExampleBot"))
	}
}
PROGRAM
go build -o program . 2>/dev/null
cat > test.py <<'SCRIPT'
import json
from protego import Protego
for rules, path in json.load(open("tests.json")):
    print("Python", Protego.parse(f"User-agent: *\n{rules}\n").can_fetch(f"https://example.com{path}", "ExampleBot"))
SCRIPT
output=$(./program < tests.json && venv/bin/python test.py)
echo "$output"
[ "$(xargs <<<"$output")" = 'Go false Go false Go true Python True Python True Python True' ]
echo 'as described'
