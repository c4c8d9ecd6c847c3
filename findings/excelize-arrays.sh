#!/usr/bin/env bash
# excelize 2.11.1 (Go): array constants with negative numbers in formulas that `CalcCellValue` calculates, such as the payments of a loan.
# Expected: MAX({-5,-3}) is -3 and IRR({-100,60,60}) is 13 %, as in Excel and in Apache POI 5.5.1.
# Seen: MAX is 5, since all numbers of the array lose their sign, without an error. SUM({-1,2}) is an error, as the formula would be
# invalid, and IRR fails. The same numbers in cells are right.
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
	for row, number := range []int{-5, -3} {
		if err := file.SetCellInt("Sheet1", fmt.Sprintf("B%d", row+1), int64(number)); err != nil {
			panic(err)
		}
	}
	for _, formula := range []string{"MAX(B1:B2)", "MAX({-5,-3})", "MAX({5,3})", "SUM({-1,2})", "IRR({-100,60,60})"} {
		if err := file.SetCellFormula("Sheet1", "A1", "="+formula); err != nil {
			panic(err)
		}
		result, err := file.CalcCellValue("Sheet1", "A1")
		fmt.Println(formula, "|", result, "|", err)
	}
}
PROGRAM
go build -o program . 2>/dev/null
output=$(./program)
echo "$output"
diff - <(echo "$output") <<'LINES'
MAX(B1:B2) | -3 | <nil>
MAX({-5,-3}) | 5 | <nil>
MAX({5,3}) | 5 | <nil>
SUM({-1,2}) | formula not valid | formula not valid
IRR({-100,60,60}) | #NUM! | #NUM!
LINES
echo 'as described'
