#!/usr/bin/env bash
# excelize 2.11.1 (Go), `CalcCellValue`: comparisons in formulas of Excel.
# Expected: the results of Excel, as of Apache POI 5.5.1: an empty cell equals "", texts compare without regard to case, TRUE is above
# all numbers, and numbers are compared and joined to texts with 15 digits.
# Seen: `IF(B4="","open","paid")` of an empty cell is "paid", so that each row that waits for an entry looks filled. A total of 0.1 and
# 0.2 is not 0.3, and is written into a text with 17 digits. "a"<"B" and TRUE>5 are FALSE. No error is given.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH="$folder/go" GOFLAGS='-modcacherw -mod=mod'
cat > go.mod <<'MODULE'
module finding
go 1.25
require github.com/xuri/excelize/v2 v2.11.1
MODULE
cat > main.go <<'PROGRAM'
package main

import (
	"fmt"

	"github.com/xuri/excelize/v2"
)

func main() {
	file := excelize.NewFile()
	for row, number := range []float64{0.1, 0.2, 0.3} {
		if err := file.SetCellFloat("Sheet1", fmt.Sprintf("B%d", row+1), number, -1, 64); err != nil {
			panic(err)
		}
	}
	formulas := []string{
		`IF(B4="","open","paid")`, `B4=0`, `ISBLANK(B4)`, `SUM(B1:B2)=B3`, `"Total: "&SUM(B1:B2)`, `"a"="A"`, `"a"<"B"`, `TRUE>5`,
	}
	for _, formula := range formulas {
		if err := file.SetCellFormula("Sheet1", "A1", "="+formula); err != nil {
			panic(err)
		}
		result, err := file.CalcCellValue("Sheet1", "A1")
		if err != nil {
			panic(err)
		}
		fmt.Println(formula, "|", result)
	}
}
PROGRAM
go build -o program . 2>/dev/null
output=$(./program)
echo "$output"
diff - <(echo "$output") <<'LINES'
IF(B4="","open","paid") | paid
B4=0 | TRUE
ISBLANK(B4) | TRUE
SUM(B1:B2)=B3 | FALSE
"Total: "&SUM(B1:B2) | Total: 0.30000000000000004
"a"="A" | TRUE
"a"<"B" | FALSE
TRUE>5 | FALSE
LINES
echo 'as described'
