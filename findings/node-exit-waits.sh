#!/usr/bin/env bash
# node 24.21.0: a process calls process.exit() while a thread of libuv's pool computes, here a key with 5,000,000 iterations.
# Expected: the process ends at once, and the result is lost.
# Seen: `exit` handlers run at once, but the process ends only when the thread has finished. A signal that it sends to itself in
# such a handler ends it at once.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund node@24.21.0
cat > exit.mjs <<'SCRIPT'
import { spawnSync } from 'node:child_process';
import { pbkdf2, pbkdf2Sync } from 'node:crypto';
const [, script, mode] = process.argv;
const ITERATIONS = 5_000_000;
if (mode === undefined) {
  const timeOf = (work) => {
    const began = performance.now();
    work();
    return performance.now() - began;
  };
  const alone = timeOf(() => pbkdf2Sync('', '', ITERATIONS, 64, 'sha512'));
  const [exits, kills] = ['exits', 'kills'].map((name) =>
    timeOf(() => spawnSync(process.execPath, [script, name], { stdio: 'inherit' })),
  );
  console.log({ alone, exits, kills });
  process.exit(exits > 0.7 * alone && kills < 0.7 * alone ? 0 : 1);
}
pbkdf2('', '', ITERATIONS, 64, 'sha512', () => console.log('never printed'));
if (mode === 'kills') process.once('exit', () => process.kill(process.pid, 'SIGKILL'));
setTimeout(() => process.exit(), 100);
SCRIPT
output=$(npx node exit.mjs)
echo "$output"
! grep -q 'never printed' <<<"$output"
echo 'as described'
