#!/usr/bin/env bash
# github.com/sosodev/duration 1.4.0 (Go), which gqlgen uses for its scalar Duration: the time.Duration of a token of 31 days and of a
# contract of 365 days, read by luxon 3.7.2 (Node.js).
# Expected: PT744H or P31D, and PT8760H or P365D, since ISO 8601 gives months and years no fixed length.
# Seen: P1MT14H and P1Y. From 1 February 2027 the first is 28 days and 14 hours, and from 1 January 2028 the second is 366 days. Only
# durations under 730 hours are the same for both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH="$folder/go" GOFLAGS='-modcacherw -mod=mod'
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund luxon@3.7.2
cat > go.mod <<'MODULE'
module finding
go 1.24
require github.com/sosodev/duration v1.4.0
MODULE
cat > main.go <<'PROGRAM'
package main

import (
	"fmt"
	"time"

	"github.com/sosodev/duration"
)

func main() {
	for _, days := range []time.Duration{30, 31, 365} {
		fmt.Println(duration.Format(days * 24 * time.Hour))
	}
}
PROGRAM
go build -o program . 2>/dev/null
cat > read.js <<'SCRIPT'
import { DateTime, Duration } from 'luxon';
const hours = (text, date) => {
  const start = DateTime.fromISO(date, { zone: 'utc' });
  return start.plus(Duration.fromISO(text)).diff(start, 'hours').hours;
};
const [month, longMonth, year] = process.argv.slice(2);
console.log(month, hours(month, '2027-02-01'), longMonth, hours(longMonth, '2027-02-01'), year, hours(year, '2028-01-01'));
SCRIPT
output=$(./program | xargs node read.js)
echo "$output"
[ "$output" = 'P4W2D 720 P1MT14H 686 P1Y 8784' ]
echo 'as described'
