#!/usr/bin/env bash
# pip 23.2.1, which Python 3.11.7 puts into its virtual environments, and lxml 6.1.3: `pip install trafilatura==2.3.1`.
# Expected: an environment in which trafilatura can be imported, as with pip 26.3, since each release names what it needs.
# Seen: pip ends with 0 and a warning, and the import fails. A dependency asks for `lxml[html_clean]`; the metadata of lxml now name the extra
# `html-clean`, which is the same since PEP 685, and pip 23.2.1 compares the letters and leaves out lxml_html_clean.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1
for pip in 23.2.1 26.3; do
  python3 -m venv "$pip"
  "$pip/bin/python" -m pip install --quiet "pip==$pip"
  "$pip/bin/python" -m pip install --quiet trafilatura==2.3.1 justext==3.0.2 lxml==6.1.3 2>"$pip.txt"
  cat "$pip.txt"
done
grep -qF "lxml 6.1.3 does not provide the extra 'html_clean'" 23.2.1.txt
[ ! -s 26.3.txt ]
26.3/bin/python -c 'import trafilatura, lxml_html_clean'
if 23.2.1/bin/python -c 'import lxml_html_clean' 2>/dev/null; then exit 1; fi
if 23.2.1/bin/python -c 'import trafilatura' 2>import.txt; then exit 1; fi
tail -n 2 import.txt
grep -qF 'lxml.html.clean module is now a separate project' import.txt
echo 'as described'
