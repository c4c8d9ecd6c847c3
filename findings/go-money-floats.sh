#!/usr/bin/env bash
# github.com/Rhymond/go-money 1.0.15 (Go): amounts from floats, and amounts in JSON that it wrote itself.
# Expected: 4.35 is €4.35, and the JSON of an amount is read as the same amount, since it counts cents in an int64.
# Seen: €4.34, and 573 of the prices from 0.01 to 100.00 lose a cent, since the product with 100 is cut and not rounded. From its own JSON
# it reads amounts through a float, so that 9007199254740993 becomes 9007199254740992. No error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH="$folder/go" GOFLAGS='-modcacherw -mod=mod'
cat > go.mod <<'MODULE'
module finding
go 1.24
require github.com/Rhymond/go-money v1.0.15
MODULE
cat > main.go <<'PROGRAM'
package main

import (
	"encoding/json"
	"fmt"

	"github.com/Rhymond/go-money"
)

func main() {
	cut := 0
	for cents := int64(1); cents <= 10_000; cents++ {
		if money.NewFromFloat(float64(cents)/100, money.EUR).Amount() != cents {
			cut++
		}
	}
	fmt.Println(money.NewFromFloat(4.35, money.EUR).Display(), money.NewFromFloat(19.99, money.EUR).Display(), cut)
	written, err := json.Marshal(money.New(9007199254740993, "IRR"))
	if err != nil {
		panic(err)
	}
	var read money.Money
	if err = json.Unmarshal(written, &read); err != nil {
		panic(err)
	}
	fmt.Println(string(written), read.Amount())
}
PROGRAM
go build -o program . 2>/dev/null
output=$(./program)
echo "$output"
diff - <(echo "$output") <<'LINES'
€4.34 €19.98 573
{"amount":9007199254740993,"currency":"IRR"} 9007199254740992
LINES
echo 'as described'
