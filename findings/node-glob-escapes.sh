#!/usr/bin/env bash
# Node.js 24.21.0, on Linux: `fs.glob` and `path.matchesGlob` with an escaped bracket, as for folders named `[id]` of Next.js and SvelteKit, and
# with a symbolic link to a folder.
# Expected: `\[` is the character [, as for glob 14.0.6 and fast-glob 3.3.3 and in a shell, and `**` does not follow links.
# Seen: Node.js takes the backslash for a slash, as on Windows, and finds nothing; `[[]id]` works. `**/*` lists the entries of the linked folder,
# although `**/*.js` does not find them. And fast-glob finds `.env` with `[!a]*`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund node@24.21.0 glob@14.0.6 fast-glob@3.3.3
mkdir -p tree/'[id]' other
touch tree/'[id]'/page.js tree/.env tree/a.js other/b.js
ln -s ../other tree/link
cat > find.js <<'SCRIPT'
import { globSync as nodeGlob } from 'node:fs';
import { matchesGlob } from 'node:path';
import fastGlob from 'fast-glob';
import { globSync } from 'glob';
const FINDERS = {
  node: (pattern) => nodeGlob(pattern, { cwd: 'tree' }),
  glob: (pattern) => globSync(pattern, { cwd: 'tree' }),
  'fast-glob': (pattern) => fastGlob.sync(pattern, { cwd: 'tree' }),
};
for (const pattern of ['\\[id\\]/*', '[[]id]/*', '**/*', '**/*.js', '[!a]*'])
  for (const [name, find] of Object.entries(FINDERS)) console.log(pattern, name, '|', find(pattern).sort().join(' '));
console.log('matchesGlob', matchesGlob('[id]/page.js', '\\[id\\]/*'));
SCRIPT
output=$(npx node find.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
\[id\]/* node | 
\[id\]/* glob | [id]/page.js
\[id\]/* fast-glob | [id]/page.js
[[]id]/* node | [id]/page.js
[[]id]/* glob | [id]/page.js
[[]id]/* fast-glob | [id]/page.js
**/* node | [id] [id]/page.js a.js link link/b.js
**/* glob | [id] [id]/page.js a.js link
**/* fast-glob | [id]/page.js a.js link/b.js
**/*.js node | [id]/page.js a.js
**/*.js glob | [id]/page.js a.js
**/*.js fast-glob | [id]/page.js a.js link/b.js
[!a]* node | [id] link
[!a]* glob | [id] link
[!a]* fast-glob | .env
matchesGlob false
LINES
echo 'as described'
