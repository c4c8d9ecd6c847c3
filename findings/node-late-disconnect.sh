#!/usr/bin/env bash
# node 24.21.0: a forked process listens for `disconnect` after its parent has been killed, for example because it was still
# loading its modules.
# Expected: the listener is called, because the channel is read only while something listens on it, as for `message`.
# Seen: it is never called. `process.connected` is false by then, and nothing else tells the process.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund node@24.21.0
cat > parent.mjs <<'SCRIPT'
import { fork } from 'node:child_process';
fork('./child.mjs', { stdio: 'inherit', detached: true }).once('message', () => process.kill(process.pid, 'SIGKILL'));
SCRIPT
cat > child.mjs <<'SCRIPT'
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
process.send('started');
const seen = [];
if (process.argv[2] === 'early') process.once('disconnect', () => seen.push('early'));
while (process.connected) await sleep(10);
process.once('disconnect', () => seen.push('late'));
await sleep(1_000);
writeFileSync('seen.txt', `connected ${process.connected}, events: ${seen.join()}\n`);
SCRIPT
run() {
  rm -f seen.txt
  sed "s/fork('.\/child.mjs',/fork('.\/child.mjs', ['$1'],/" parent.mjs > run.mjs
  npx node run.mjs >/dev/null 2>&1 || true
  for _ in $(seq 100); do [ -s seen.txt ] && break; sleep 0.1; done
  cat seen.txt
}
[ "$(run early)" = 'connected false, events: early' ]
[ "$(run late)" = 'connected false, events: ' ]
echo 'as described'
