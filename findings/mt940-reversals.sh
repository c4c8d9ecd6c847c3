#!/usr/bin/env bash
# mt-940 5.1.1 (Python): a bank's statement (MT940) with a payment of 40 received, and its reversal, marked RC as "reversal of a credit".
# Expected: amounts of 40 and -40, whose sum is the difference of the two balances in the statement, zero.
# Seen: 40 and 40. The sign goes by the mark D alone, so that money that was taken back counts twice. The mark is in `status`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet mt-940==5.1.1
cat > statement.sta <<'SCRIPT'
:20:STATEMENT
:25:12345678/0000123456
:28C:1/1
:60F:C261102EUR100,00
:61:2611021102C40,00NTRFINVOICE 261
:61:2611031103RC40,00NTRFINVOICE 261
:61:2611031103D10,00NTRFFEE
:61:2611041104RD10,00NTRFFEE
:62F:C261104EUR100,00
SCRIPT
cat > read.py <<'SCRIPT'
import mt940
transactions = mt940.parse("statement.sta")
for transaction in transactions:
    print(transaction.data["status"], transaction.data["amount"].amount)
balances = [transactions.data[name].amount.amount for name in ("final_closing_balance", "final_opening_balance")]
print("sum", sum(it.data["amount"].amount for it in transactions), "difference", balances[0] - balances[1])
SCRIPT
output=$(venv/bin/python read.py)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
C 40.00
RC 40.00
D -10.00
RD 10.00
sum 80.00 difference 0.00
SCRIPT
echo 'as described'
