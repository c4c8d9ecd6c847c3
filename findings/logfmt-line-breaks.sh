#!/usr/bin/env bash
# logfmt 1.4.0 (Node.js) and go-logfmt/logfmt 0.6.1 (Go): values with line breaks, such as stack traces, written by one and read by the
# other.
# Expected: one line for a record, with \n in quotes for the line break, as Go writes it, and the line break again where it is read.
# Seen: the library for Node.js writes the line break itself, so that Go reads two records, the second with the rest of the value as a key;
# and it reads the \n of Go as the letter n.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund logfmt@1.4.0
export GOPATH="$folder/go" GOFLAGS='-modcacherw -mod=mod'
cat > go.mod <<'MODULE'
module finding
go 1.24
require github.com/go-logfmt/logfmt v0.6.1
MODULE
cat > main.go <<'PROGRAM'
package main

import (
	"fmt"
	"os"

	"github.com/go-logfmt/logfmt"
)

func main() {
	line, err := logfmt.MarshalKeyvals("ok", true, "note", "two\nlines")
	if err != nil {
		panic(err)
	}
	if err = os.WriteFile("go.log", line, 0o600); err != nil {
		panic(err)
	}
	decoder := logfmt.NewDecoder(os.Stdin)
	for decoder.ScanRecord() {
		fmt.Print("Go")
		for decoder.ScanKeyval() {
			fmt.Printf(" %s=%q", decoder.Key(), decoder.Value())
		}
		fmt.Println()
	}
}
PROGRAM
go build -o program . 2>/dev/null
cat > logs.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import logfmt from 'logfmt';
if (process.argv[2] === 'write') console.log(logfmt.stringify({ ok: true, note: 'two\nlines' }));
else console.log('Node.js', JSON.stringify(logfmt.parse(readFileSync('go.log', 'utf8'))));
SCRIPT
output=$(node logs.js write | ./program && node logs.js read)
echo "$output"
diff - <(echo "$output") <<'LINES'
Go ok="true" note="two"
Go lines=""
Node.js {"ok":true,"note":"twonlines"}
LINES
echo 'as described'
