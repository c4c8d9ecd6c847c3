#!/usr/bin/env bash
# msgpackr 2.1.4 and cbor-x 1.6.9 (Node.js): a time in milliseconds, 1764334800000, read by msgpack 5.4.1 and fxamacker/cbor 2.10.0 (Go)
# into an int64, and by msgpack 1.2.4 and cbor2 6.3.0 (Python).
# Expected: an integer, as @msgpack/msgpack 3.1.3 writes it, since MessagePack and CBOR have integers of 64 bits.
# Seen: both write integers of more than 32 bits as floats, so that Go gives an error for the message, and Python a float. A field that is
# small in tests, such as a count of bytes, breaks the receiver only later.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund msgpackr@2.1.4 cbor-x@1.6.9 @msgpack/msgpack@3.1.3
python3 -m venv venv
venv/bin/pip install --quiet msgpack==1.2.4 cbor2==6.3.0
export GOPATH="$folder/go" GOFLAGS='-modcacherw -mod=mod'
cat > write.js <<'SCRIPT'
import { writeFileSync } from 'node:fs';
import { encode as msgpack } from '@msgpack/msgpack';
import { encode as cborx } from 'cbor-x';
import { pack as msgpackr } from 'msgpackr';
for (const size of [4_294_967_295, 1_764_334_800_000])
  for (const [name, write] of Object.entries({ msgpack, msgpackr, cborx })) writeFileSync(`${name}-${size}`, write({ size }));
SCRIPT
cat > read.py <<'SCRIPT'
import cbor2, msgpack
for size in (4_294_967_295, 1_764_334_800_000):
    for name, read in (("msgpack", msgpack.unpackb), ("msgpackr", msgpack.unpackb), ("cborx", cbor2.loads)):
        print("Python", name, read(open(f"{name}-{size}", "rb").read())["size"])
SCRIPT
cat > go.mod <<'MODULE'
module finding
go 1.24
require (
	github.com/fxamacker/cbor/v2 v2.10.0
	github.com/vmihailenco/msgpack/v5 v5.4.1
)
MODULE
cat > main.go <<'PROGRAM'
package main

import (
	"fmt"
	"os"

	"github.com/fxamacker/cbor/v2"
	"github.com/vmihailenco/msgpack/v5"
)

func main() {
	for _, size := range []string{"4294967295", "1764334800000"} {
		for _, name := range []string{"msgpack", "msgpackr", "cborx"} {
			var message struct {
				Size int64 `cbor:"size" msgpack:"size"`
			}
			data, err := os.ReadFile(name + "-" + size)
			if err != nil {
				panic(err)
			}
			if name == "cborx" {
				err = cbor.Unmarshal(data, &message)
			} else {
				err = msgpack.Unmarshal(data, &message)
			}
			fmt.Println("Go", name, message.Size, err)
		}
	}
}
PROGRAM
go build -o program . 2>/dev/null
output=$(node write.js && venv/bin/python read.py && ./program)
echo "$output"
for reader in Go Python; do
  for name in msgpack msgpackr cborx; do grep -q "^$reader $name 4294967295" <<<"$output"; done
  grep -q "^$reader msgpack 1764334800000" <<<"$output"
done
grep -qx 'Python msgpackr 1764334800000.0' <<<"$output"
grep -qx 'Python cborx 1764334800000.0' <<<"$output"
grep -q '^Go msgpackr 0 msgpack: invalid code=cb decoding int64' <<<"$output"
grep -q '^Go cborx 0 cbor: cannot unmarshal primitives into Go' <<<"$output"
echo 'as described'
