#!/usr/bin/env bash
# mistune 3.4.0 (Python), the Markdown parser of nbconvert: character references, and a vertical bar in code in a table.
# Expected: `create_markdown()` and `mistune.html` differ in tags only, as `escape` is the option for HTML in the text. `&copy;` is ©, as in
# CommonMark and cmarkgfm 2025.10.22, and `\|` in code in a cell is a bar without the backslash, as in GitHub's Markdown.
# Seen: with `create_markdown()` readers see the letters `&copy;` and `R&amp;D`, except in the address of a link; `mistune.html` gives ©. With the
# plugin for tables the code has the backslash.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet mistune==3.4.0 cmarkgfm
cat > convert.py <<'SCRIPT'
import cmarkgfm, mistune
markdown = mistune.create_markdown(plugins=["table"])
for text in "&copy; 2026 R&amp;D", "[a](/b?x=1&amp;y=2)":
    for name, convert in (("create_markdown", markdown), ("html", mistune.html), ("cmarkgfm", cmarkgfm.github_flavored_markdown_to_html)):
        print(name, text, "=", convert(text).strip())
table = "| a |\n| --- |\n| `x\\|y` |"
for name, convert in (("create_markdown", markdown), ("cmarkgfm", cmarkgfm.github_flavored_markdown_to_html)):
    print(name, *(line.strip() for line in convert(table).splitlines() if "<td>" in line))
SCRIPT
output=$(venv/bin/python convert.py)
echo "$output"
for name in html cmarkgfm; do grep -qxF "$name &copy; 2026 R&amp;D = <p>© 2026 R&amp;D</p>" <<<"$output"; done
grep -qxF 'create_markdown &copy; 2026 R&amp;D = <p>&amp;copy; 2026 R&amp;amp;D</p>' <<<"$output"
[ "$(grep -cF '[a](/b?x=1&amp;y=2) = <p><a href="/b?x=1&amp;y=2">a</a></p>' <<<"$output")" = 3 ]
grep -qxF 'create_markdown <td><code>x\|y</code></td>' <<<"$output"
grep -qxF 'cmarkgfm <td><code>x|y</code></td>' <<<"$output"
echo 'as described'
