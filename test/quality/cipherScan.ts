import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { mapConcurrent } from '../../activities/links/mapConcurrent.ts';
import { type Comparison, compareScan, differencesOf, FIELDS, scanPort } from '../helpers/scanComparison.ts';
import { TLS_CONFIGURATIONS } from '../helpers/tlsConfigurations.ts';
import { createTlsLab } from '../helpers/tlsServers.ts';
import type { Report } from './report.ts';
import { table } from './table.ts';

interface Row {
  name: string;
  comparison: Comparison;
}

const CONCURRENCY = 4;
const P95_LIMIT_MS = 15_000;
const never = new AbortController().signal;

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && 'comparison' in value;
}

/** Reads the results of an earlier run, one line of JSON each. */
function readRows(file: string | undefined): Row[] {
  if (file === undefined || !existsSync(file)) return [];
  const lines: unknown[] = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  return lines.filter(isRow);
}

type Lab = Awaited<ReturnType<typeof createTlsLab>>;

/** Compares the servers that have no row yet, adds their rows, and returns how many failed. */
async function compareMissing(lab: Lab, rows: Row[], compared: RegExp, file: string | undefined) {
  const missing = Object.entries(TLS_CONFIGURATIONS)
    .filter(([name]) => compared.test(name) && !rows.some((row) => row.name === name))
    .sort(([, a], [, b]) => Number(b.sample ?? false) - Number(a.sample ?? false));
  await mapConcurrent(missing, CONCURRENCY, never, async ([name, { start, stapling = false, groups }]) => {
    const comparison = await compareScan(await start(lab), stapling).catch((error: unknown) => {
      console.log(`${name}: ${error}`);
      return null;
    });
    if (comparison === null) return;
    const row = { name, comparison };
    rows.push(row);
    if (file !== undefined) appendFileSync(file, `${JSON.stringify(row)}\n`);
    console.log(`${name}: ${Math.round(comparison.ms)} ms`);
    for (const it of differencesOf(comparison.scan, comparison.testssl, groups))
      console.log(`  ${it.field} ${it.value}: only ${it.reportedBy} ${it.reason ?? '(no known reason)'}`);
  });
  const names = Object.keys(TLS_CONFIGURATIONS);
  rows.sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name));
  return missing.filter(([name]) => !rows.some((row) => row.name === name)).length;
}

interface Scan {
  name: string;
  grade: string;
  byTool: boolean;
  ms: number;
  load: number;
}

/** Scans each server on its own, without testssl.sh, for the durations. */
async function scanEach(lab: Lab, scanned: RegExp): Promise<Scan[]> {
  const scans: Scan[] = [];
  for (const [name, { start }] of Object.entries(TLS_CONFIGURATIONS)) {
    if (!scanned.test(name)) continue;
    const { scan, byTool, ms } = await scanPort(await start(lab));
    scans.push({ name, grade: String(scan.grade), byTool, ms, load: loadavg()[0] ?? 0 });
  }
  return scans;
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
const firstLine = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { encoding: 'utf8' }).trim().split('\n')[0] ?? '';

/** Returns the report of the compared servers and of the scans. @param failed number of comparisons that failed */
function reportOf(rows: readonly Row[], scans: readonly Scan[], failed: number): Report {
  const times = scans.map(({ ms }) => ms).sort((a, b) => a - b);
  const quantile = (share: number): number => times[Math.ceil(share * times.length) - 1] ?? 0;
  const comparisons = rows.map(({ name, comparison: { scan, testssl } }) => ({
    name,
    testssl,
    differences: differencesOf(scan, testssl, TLS_CONFIGURATIONS[name]?.groups),
  }));
  const differences = comparisons.flatMap(({ name, differences: own }) => own.map((it) => ({ name, ...it })));
  const unexplained = differences.filter(({ reason }) => reason === null);

  const agreement = FIELDS.map((field) => {
    const examined = comparisons.filter(
      ({ testssl }) => field !== 'ocspStapling' || testssl.ocspStapling !== null,
    );
    const own = examined.map((row) => row.differences.filter((it) => it.field === field));
    return [
      field,
      own.filter((list) => list.length === 0).length,
      own.filter((list) => list.length > 0 && list.every(({ reason }) => reason !== null)).length,
      own.filter((list) => list.some(({ reason }) => reason === null)).length,
    ];
  });
  const reasons = [...new Set(differences.map(({ reason }) => reason ?? 'None known.'))].map((reason) => {
    const own = differences.filter((it) => (it.reason ?? 'None known.') === reason);
    const values = [
      ...new Set(own.map(({ field, value, reportedBy }) => `${field}: ${value}, only ${reportedBy}`)),
    ];
    const servers = [...new Set(own.map(({ name }) => name))].map((name) => `"${name}"`);
    return `- ${reason}\n  Servers: ${servers.join(', ')}. Values: ${values.join('; ')}.`;
  });
  const each = scans.map(({ name, grade, byTool, ms }) => {
    const own = comparisons.find((row) => row.name === name)?.differences;
    return [
      name,
      grade,
      byTool ? '' : 'scan alone',
      own === undefined ? 'not compared' : own.length,
      seconds(ms),
    ];
  });
  const testsslVersion = firstLine('dpkg-query', '-W', 'testssl.sh').split('\t')[1];
  const opensslVersion = firstLine('openssl', 'version').split(' ')[1];
  const loads = scans.map(({ load }) => load);

  const text = `# The cipher scan of ssl-check beside testssl.sh

Made by \`npm run quality -- cipherScan\`. ${rows.length} of ${scans.length} servers were compared, all on loopback: OpenSSL ${opensslVersion} (\`openssl s_server\`),
Node.js ${process.versions.node} (OpenSSL ${process.versions.openssl}), Node.js 0.12.0 (OpenSSL 1.0.1l), GnuTLS (\`gnutls-serv\`), nginx, and some of them behind
a middlebox. \`test/helpers/tlsConfigurations.ts\` has the configurations. Each server is scanned by ssl-check and then
examined by testssl.sh ${testsslVersion} of Debian with \`--protocols --cipher-per-proto --pfs\`, some also with
\`--server-defaults\` for OCSP stapling. Protocols, cipher suites by protocol, groups, ALPN and OCSP stapling are compared
value by value. Where testssl.sh cannot find all groups, those that only the scan reports are compared with the server's
configuration. testssl.sh does not know the grade, which follows from these fields.

Differences without a known reason: ${unexplained.length}.

## Agreement

Number of servers by field.

${table(['field', 'same', 'differs for a known reason', 'differs'], agreement)}

## Reasons

${reasons.join('\n')}

## Duration

Of the call of ssl-check with the scan, one server after the other on a machine with ${availableParallelism()} cores, without testssl.sh
beside it. The load average of the machine over one minute was ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)} meanwhile; above ${availableParallelism()}, other work slowed the
scans down. p50 ${seconds(quantile(0.5))}, p95 ${seconds(quantile(0.95))}, maximum ${seconds(quantile(1))}. The goal is a p95 below ${seconds(P95_LIMIT_MS)}.

## Servers

"Scan alone": ssl-check itself answers \`target_failed\`, because Node's client gets no certificate: it has no cipher suite
with a certificate in common with the server, or the server refuses a ClientHello that offers TLS 1.3. The cipher scan was then
run without the certificate check. The durations were measured at the load given above.

${table(['server', 'grade', 'how', 'differences', 'duration'], each)}
`;
  return {
    figures: [
      {
        servers: rows.length,
        'without a known reason': unexplained.length,
        failed,
        'p50 ms': quantile(0.5),
        'p95 ms': quantile(0.95),
        'max ms': quantile(1),
      },
    ],
    document: { name: 'cipherScan.md', text },
    isGood: unexplained.length === 0 && failed === 0 && quantile(0.95) < P95_LIMIT_MS,
  };
}

/**
 * Compares the cipher scan of ssl-check with testssl.sh on the servers of test/helpers/tlsConfigurations.ts, which needs about two
 * minutes of processor time for each, and measures the scans. Every difference must have a known reason.
 *
 * @param file keeps the results, one line of JSON each, so that the next run continues
 * @param compared matches the names of the servers to compare
 * @param scanned matches the names of the servers to measure
 */
export async function compareScans(file?: string, compared = /^/, scanned = /^/): Promise<Report> {
  await using lab = await createTlsLab();
  const rows = readRows(file);
  const failed = await compareMissing(lab, rows, compared, file);
  return reportOf(rows, await scanEach(lab, scanned), failed);
}
