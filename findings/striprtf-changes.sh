#!/usr/bin/env bash
# striprtf 0.0.35 (Python): an RTF document with a price that was changed while changes were tracked, and with hidden text (`\deleted`,
# `\revised` and `\v` of the RTF specification 1.9.1).
# Expected: the text as the document shows it with the changes accepted, "120 EUR", and without the hidden text.
# Seen: the deleted price is given with the new one, so that 100 and 120 become 100120, and the hidden text is in the result. It is so
# with groups and with switches that end with 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet striprtf==0.0.35
cat > changes.py <<'SCRIPT'
from striprtf.striprtf import rtf_to_text
for name, text in {
    "group": r"{\rtf1\ansi {\deleted\revauthdel1 100}{\revised\revauth1 120} EUR{\v  internal: 90}\par}",
    "switch": r"{\rtf1\ansi \deleted 100\deleted0\revised 120\revised0  EUR\v  internal: 90\v0\par}",
}.items():
    print(name, rtf_to_text(text).strip())
SCRIPT
output=$(venv/bin/python changes.py)
echo "$output"
grep -qx 'group 100120 EUR internal: 90' <<<"$output"
grep -qx 'switch 100120 EUR internal: 90' <<<"$output"
echo 'as described'
