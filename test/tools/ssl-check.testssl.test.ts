import test from 'ava';
import { createConnectionLimit } from '../../activities/tls/connectionLimit.ts';
import { compareScan, differencesOf } from '../helpers/scanComparison.ts';
import { TLS_CONFIGURATIONS } from '../helpers/tlsConfigurations.ts';
import { createTlsLab } from '../helpers/tlsServers.ts';

/** Number of servers to compare. The samples, which together have most features, come first. */
const SERVERS = Number(process.env.TEST_TLS_SERVERS ?? 3);
/** Time limit of one comparison in milliseconds. testssl.sh needs about two minutes of processor time. */
const COMPARISON_MS = 1_000_000;

const lab = await createTlsLab();
test.after.always(() => lab[Symbol.asyncDispose]());

const configurations = Object.entries(TLS_CONFIGURATIONS)
  .sort(([, a], [, b]) => Number(b.sample ?? false) - Number(a.sample ?? false))
  .slice(0, SERVERS);

/** testssl.sh keeps about one core busy. */
const cores = createConnectionLimit(2);

for (const [name, { start, stapling = false, groups }] of configurations)
  test(`the scan agrees with testssl.sh: ${name}`, (t) =>
    cores.run(async () => {
      t.timeout(COMPARISON_MS);
      const { scan, testssl } = await compareScan(await start(lab), stapling);
      t.deepEqual(
        differencesOf(scan, testssl, groups).filter(({ reason }) => reason === null),
        [],
      );
    }));
