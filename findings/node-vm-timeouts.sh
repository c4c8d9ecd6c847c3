#!/usr/bin/env bash
# node 24.21.0: the option `timeout` of vm.Script.runInContext.
# Expected: V8 keeps the time, as for a stack limit: a run that ends at once costs about the same with the option as without.
# Seen: each run starts a thread of the operating system and waits until it has ended, also if the script is `1`. 2,000 runs with
# the option take at least 2,000 thread ids more and more than five times the CPU time of 2,000 runs without it. A sandbox that
# enters its context several times for each message, as Temporal's workflow workers do, starts as many threads.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{}' > package.json
npm install --silent --no-audit --no-fund node@24.21.0
cat > runs.cjs <<'SCRIPT'
const { execFileSync } = require('node:child_process');
const vm = require('node:vm');
const context = vm.createContext({});
const script = new vm.Script('1');
// Threads and processes share one sequence of ids.
const nextId = () => Number(execFileSync('sh', ['-c', 'echo $$'], { encoding: 'utf8' }));
for (const options of [{}, { timeout: 5000 }]) {
  for (let run = 0; run < 200; run++) script.runInContext(context, options);
  const [id, cpu] = [nextId(), process.cpuUsage()];
  for (let run = 0; run < 2000; run++) script.runInContext(context, options);
  const { user, system } = process.cpuUsage(cpu);
  console.log(JSON.stringify({ ids: nextId() - id, milliseconds: (user + system) / 1000 }));
}
SCRIPT
[ "$(npx node --version)" = v24.21.0 ]
output=$(npx node runs.cjs)
echo "$output"
node -e '
  const [plain, timed] = process.argv[1].split("\n").map((line) => JSON.parse(line));
  process.exit(timed.ids >= 2000 && plain.ids < 2000 && timed.milliseconds > 5 * plain.milliseconds ? 0 : 1);
' "$output"
echo 'as described'
