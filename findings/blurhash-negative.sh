#!/usr/bin/env bash
# blurhash 2.0.5 (Node.js), blurhash-python 1.2.2 and go-blurhash 1.1.1 (Go): the BlurHash of a picture that gets brighter from left to
# right.
# Expected: one text, since the algorithm leaves nothing open, and the placeholder does not depend on where it was made.
# Seen: Python and Go agree, and Node.js differs, as it takes the largest coefficient where the others take the one of the largest
# magnitude. If that one is negative, the coefficients are cut to a range that is too small: the left and right edges of the placeholder
# are 33 levels apart instead of 203. Of the mirrored picture all give the same text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund blurhash@2.0.5 pngjs@7.0.0
python3 -m venv venv
venv/bin/pip install --quiet blurhash-python==1.2.2 pillow==13.0.0
export GOPATH="$folder/go" GOFLAGS='-modcacherw -mod=mod'
cat > hash.js <<'SCRIPT'
import { writeFileSync } from 'node:fs';
import { decode, encode } from 'blurhash';
import { PNG } from 'pngjs';
const [width, height] = [32, 24];
for (const name of ['brighter', 'darker']) {
  const png = new PNG({ width, height });
  for (let at = 0; at < width * height; at++) {
    const x = name === 'brighter' ? at % width : width - 1 - (at % width);
    png.data.set([x * 8, x * 8, x * 8, 255], at * 4);
  }
  writeFileSync(`${name}.png`, PNG.sync.write(png));
  const hash = encode(new Uint8ClampedArray(png.data), width, height, 3, 1);
  console.log('js', name, hash);
  const other = name === 'brighter' && process.argv[2];
  for (const [which, text] of [['js', hash], ['py', other]])
    if (text && name === 'brighter') {
      const pixels = decode(text, width, height);
      console.log('edges', which, pixels[0], pixels[(width - 1) * 4]);
    }
}
SCRIPT
cat > hash.py <<'SCRIPT'
import blurhash
for name in ("brighter", "darker"):
    print("py", name, blurhash.encode(f"{name}.png", 3, 1))
SCRIPT
cat > go.mod <<'MODULE'
module finding
go 1.24
require github.com/bbrks/go-blurhash v1.1.1
MODULE
cat > main.go <<'PROGRAM'
package main

import (
	"fmt"
	"image/png"
	"os"

	"github.com/bbrks/go-blurhash"
)

func main() {
	for _, name := range []string{"brighter", "darker"} {
		file, err := os.Open(name + ".png")
		if err != nil {
			panic(err)
		}
		picture, err := png.Decode(file)
		if err != nil {
			panic(err)
		}
		hash, err := blurhash.Encode(3, 1, picture)
		fmt.Println("go", name, hash, err)
	}
}
PROGRAM
go build -o program . 2>/dev/null
node hash.js > /dev/null
hashes=$(venv/bin/python hash.py)
output=$(node hash.js "$(grep '^py brighter' <<<"$hashes" | cut -d ' ' -f 3)" && echo "$hashes" && ./program)
echo "$output"
hash() { grep "^$1 $2 " <<<"$output" | cut -d ' ' -f 3; }
[ "$(hash py brighter)" = "$(hash go brighter)" ]
[ "$(hash js brighter)" != "$(hash go brighter)" ]
[ "$(hash js darker)" = "$(hash go darker)" ]
[ "$(hash py darker)" = "$(hash go darker)" ]
grep -qx 'edges js 148 181' <<<"$output"
grep -qx 'edges py 18 221' <<<"$output"
echo 'as described'
