import { AUDIT_TIMEOUT_MS, audit } from '../../store/ledger/audit.ts';
import { parseOptions } from './arguments.ts';
import { FAILED, runCli, withStore } from './run.ts';

const HELP =
  'Usage: npm run -s audit -- [--json] [--help]\n\n' +
  'Recomputes every account from its ledger entries, using one consistent snapshot of the database, and prints the differences.\n' +
  'Exit status: 0 if all accounts are correct, 1 if there is a difference or the audit failed, 2 for a usage error.\n' +
  'Reads the database at MONGODB_URI. Default: the database of the local stack in DATA_DIR.\n';

await runCli(async () => {
  const args = process.argv.slice(2);
  if (args.includes('--help')) return { help: HELP };
  parseOptions(
    args.filter((arg) => arg !== '--json'),
    {},
  );
  const result = await withStore((store) => audit(store), AUDIT_TIMEOUT_MS);
  if (result.drift.length > 0) process.exitCode = FAILED;
  return { result, json: args.includes('--json') };
});
