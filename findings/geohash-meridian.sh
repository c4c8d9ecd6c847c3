#!/usr/bin/env bash
# ngeohash 0.6.4 (Node.js) and github.com/mmcloughlin/geohash 0.10.0 (Go), latlon-geohash 2.0.0 (Node.js): places that are exactly on a
# border of cells, such as the meridian of Greenwich, the equator and 45° N.
# Expected: the same geohash, the one of the cell to the east and north, as in Redis.
# Seen: ngeohash takes the cell to the west and south, so that Greenwich is gcpuz and not u10hb, and a search by prefix in data of the
# others finds nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund ngeohash@0.6.4 latlon-geohash@2.0.0
export GOPATH="$folder/go" GOFLAGS='-modcacherw -mod=mod'
cat > go.mod <<'MODULE'
module finding
go 1.24
require github.com/mmcloughlin/geohash v0.10.0
MODULE
cat > main.go <<'PROGRAM'
package main

import (
	"fmt"

	"github.com/mmcloughlin/geohash"
)

func main() {
	for _, place := range [][2]float64{{51.4779, 0}, {0, 9.45}, {45, 7.68}, {48.2, 16.37}} {
		fmt.Println("Go", geohash.EncodeWithPrecision(place[0], place[1], 5))
	}
}
PROGRAM
go build -o program . 2>/dev/null
cat > encode.js <<'SCRIPT'
import Geohash from 'latlon-geohash';
import ngeohash from 'ngeohash';
for (const [latitude, longitude] of [[51.4779, 0], [0, 9.45], [45, 7.68], [48.2, 16.37]])
  console.log('Node.js', ngeohash.encode(latitude, longitude, 5), Geohash.encode(latitude, longitude, 5));
SCRIPT
output=$(node encode.js && ./program)
echo "$output"
diff - <(echo "$output") <<'LINES'
Node.js gcpuz u10hb
Node.js kpyxz s0n8p
Node.js spvry u0j2n
Node.js u2edh u2edh
Go u10hb
Go s0n8p
Go u0j2n
Go u2edh
LINES
echo 'as described'
