import { AUDIT_TIMEOUT_MS, audit } from '../../store/audit.ts';
import { parseOptions } from './arguments.ts';
import { FAILED, runCli, withStore } from './run.ts';

const HELP =
  'Usage: npm run -s audit -- [--json] [--help]\n\n' +
  'Recomputes every account from its ledger entries, on one snapshot.\n' +
  'Exit status: 0 all accounts are correct, 1 a difference was found or the audit failed, 2 usage error.\n' +
  'Uses the stack in DATA_DIR, or the database of MONGODB_URI.\n';

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
