#!/usr/bin/env bash
# Node.js 24.21.0 and dinero.js 2.0.2: prices of 19.99 in the currencies of 2026, from minor units as payment services count them.
# Expected: Intl.NumberFormat has the digits of ISO 4217, two for forints and rupees, as dinero.js has.
# Seen: it has those of CLDR: none for the forint, the Indonesian and Pakistani rupee and the Colombian peso, none instead of three for the
# dinar of Iraq. "HUF 20" is shown for 1999 fillér, and code that asks it for the digits of a currency charges 20 in the place of 1999.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund dinero.js@2.0.2 node@24.21.0
cat > digits.js <<'SCRIPT'
import { dinero, toDecimal } from 'dinero.js';
import * as currencies from 'dinero.js/currencies';
for (const currency of ['EUR', 'RSD', 'HUF', 'IDR', 'PKR', 'COP', 'IQD']) {
  const amount = 1999 * 10 ** (currencies[currency].exponent - 2);
  const decimal = toDecimal(dinero({ amount, currency: currencies[currency] }));
  const format = new Intl.NumberFormat('en', { style: 'currency', currency, currencyDisplay: 'code' });
  const { maximumFractionDigits: digits } = format.resolvedOptions();
  const shown = format.format(decimal).replace(/\s/, ' ');
  console.log(`${decimal}: ${shown}, ${digits} digits, charged ${Math.round(decimal * 10 ** digits)} of ${amount}`);
}
SCRIPT
output=$(npx node digits.js)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
19.99: EUR 19.99, 2 digits, charged 1999 of 1999
19.99: RSD 19.99, 2 digits, charged 1999 of 1999
19.99: HUF 20, 0 digits, charged 20 of 1999
19.99: IDR 20, 0 digits, charged 20 of 1999
19.99: PKR 20, 0 digits, charged 20 of 1999
19.99: COP 20, 0 digits, charged 20 of 1999
19.990: IQD 20, 0 digits, charged 20 of 19990
SCRIPT
echo 'as described'
