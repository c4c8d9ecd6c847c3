#!/usr/bin/env bash
# net/mail of Go 1.27.4: `Date: Wed, 1 Jul 2026 09:00:00 EDT` in the header of a message.
# Expected: 13:00 UTC, as email.utils of Python reads it, or an error. RFC 5322, section 4.3, states the offsets of EST, EDT, CST, CDT,
# MST, MDT, PST and PDT, and the documentation of Go names RFC 5322.
# Seen: 09:00 UTC without an error, because the layout of time.Parse knows a zone by name only if it is the zone of the computer; so the
# same program is right in New York and four hours off elsewhere. The zone `Z` is an error. With `-0400 (EDT)` the time is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH="$folder/go" GOFLAGS='-modcacherw -mod=mod' GOTOOLCHAIN=go1.27.4
cat > go.mod <<'MODULE'
module finding
go 1.26
MODULE
cat > main.go <<'PROGRAM'
package main

import (
	"fmt"
	"net/mail"
	"strings"
)

func main() {
	for _, zone := range []string{"EDT", "PST", "-0400 (EDT)", "Z"} {
		text := "Date: Wed, 1 Jul 2026 09:00:00 " + zone + "\r\nContent-Type: text/plain\r\n\r\nHello\r\n"
		message, err := mail.ReadMessage(strings.NewReader(text))
		if err != nil {
			panic(err)
		}
		date, err := message.Header.Date()
		fmt.Println("net/mail", zone, "|", date.UTC().Format("15:04"), err)
	}
}
PROGRAM
cat > zones.py <<'SCRIPT'
from email.utils import parsedate_tz, mktime_tz
from datetime import datetime, timezone
for zone in ("EDT", "PST", "-0400 (EDT)"):
    moment = datetime.fromtimestamp(mktime_tz(parsedate_tz(f"Wed, 1 Jul 2026 09:00:00 {zone}")), timezone.utc)
    print("Python", zone, "|", moment.strftime("%H:%M"))
SCRIPT
go build -o program . 2>/dev/null
output=$(TZ=UTC ./program && python3 zones.py && TZ=America/New_York ./program | sed 's/^/New York: /')
echo "$output"
grep -qxF "net/mail EDT | 09:00 <nil>" <<<"$output"
grep -qxF "net/mail PST | 09:00 <nil>" <<<"$output"
grep -qxF "net/mail -0400 (EDT) | 13:00 <nil>" <<<"$output"
grep -qF "net/mail Z | 00:00 mail: header could not be parsed" <<<"$output"
grep -qxF "New York: net/mail EDT | 13:00 <nil>" <<<"$output"
grep -qxF 'Python EDT | 13:00' <<<"$output"
grep -qxF 'Python PST | 17:00' <<<"$output"
echo 'as described'
