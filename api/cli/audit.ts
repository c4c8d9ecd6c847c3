import { audit } from '../../store/audit.ts';
import { parseOptions } from './arguments.ts';
import { FAILED, runCli, withStore } from './run.ts';

const HELP =
  'Usage: npm run -s audit -- [--json] [--help]\n\n' +
  'Recomputes every account from its entries, on one snapshot. Exit status: 0 all is right, 1 something is not.\n' +
  'Works on the stack that runs in DATA_DIR, or on the one that MONGODB_URI names.\n';
/** The books of years are read in one go, so one answer may take longer than any on the call path. */
const TIMEOUT_MS = 300_000;

await runCli(async () => {
  const given = process.argv.slice(2);
  if (given.includes('--help')) return { help: HELP };
  parseOptions(
    given.filter((arg) => arg !== '--json'),
    {},
  );
  const result = await withStore((store) => audit(store), TIMEOUT_MS);
  if (result.drift.length > 0) process.exitCode = FAILED;
  return { result, json: given.includes('--json') };
});
