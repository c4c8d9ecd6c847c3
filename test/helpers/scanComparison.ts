import { scanCiphers } from '../../activities/tls/cipherScan.ts';
import { grade, isPostQuantum } from '../../activities/tls/grade.ts';
import { createGuard } from '../../egress/guard.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { SCAN_MS } from '../../schemas/tools/ssl-check.ts';
import { type Json, recordAt, recordsAt } from './json.ts';
import { reasonFor } from './scanReasons.ts';
import { runTestssl, type TestsslReport } from './testssl.ts';
import { loadTool } from './tool.ts';

export const FIELDS = ['protocols', 'cipherSuites', 'groups', 'alpn', 'ocspStapling'] as const;
export type Field = (typeof FIELDS)[number];

/** A value that only one of the two programs reports, or that the server is configured with and neither reports. */
export interface Difference {
  field: Field;
  value: string;
  reportedBy: 'scan' | 'testssl.sh' | 'configuration';
  /** Why the programs differ; null when that is not known, which counts as an error of the scan. */
  reason: string | null;
}

export interface Comparison {
  scan: Json;
  testssl: TestsslReport;
  /** Whether ssl-check read the certificate; else only the scan was run, without the certificate check before it. */
  byTool: boolean;
  /** Duration of the call of ssl-check, or of the scan alone, in milliseconds. */
  ms: number;
}

const tool = await loadTool('ssl-check');
const resolver = { addresses: async () => ({ addresses: ['127.0.0.1'], chain: [] }) };
const egress = createGuard({ resolver, allow: [parseAllow('127.0.0.0/8')], ownPorts: [] });

/** Scans without the certificate check. */
async function scanAlone(port: number): Promise<Json> {
  const limits = { signal: new AbortController().signal, deadline: Date.now() + SCAN_MS };
  const target = egress.parseTarget('example.com', { kind: 'host', port, pointer: '/host' });
  const offered = await scanCiphers(egress, await egress.vet(target, limits), limits);
  return { ...offered, grade: grade(offered), postQuantum: offered.groups.some(isPostQuantum) };
}

/**
 * Scans a server on loopback with ssl-check or, where ssl-check fails because Node's client and the server have no
 * cipher suite in common, with the scan alone.
 *
 * @throws ServiceError as `scanCiphers`
 */
export async function scanPort(port: number): Promise<Pick<Comparison, 'scan' | 'byTool' | 'ms'>> {
  let started = performance.now();
  try {
    const output = await tool.call({ host: `example.com:${port}`, survey: true }, { egress });
    return { scan: recordAt(output, 'survey'), byTool: true, ms: performance.now() - started };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'target_failed') throw error;
    started = performance.now();
    return { scan: await scanAlone(port), byTool: false, ms: performance.now() - started };
  }
}

const textsIn = (value: unknown): string[] => [value].flat().map(String);

/** Values that the two reports have in common in a field, and the others. */
function differ(
  field: Field,
  ours: readonly string[],
  theirs: readonly string[],
): Omit<Difference, 'reason'>[] {
  const only = (a: readonly string[], b: readonly string[]) => a.filter((value) => !b.includes(value));
  return [
    ...only(ours, theirs).map((value) => ({ field, value, reportedBy: 'scan' as const })),
    ...only(theirs, ours).map((value) => ({ field, value, reportedBy: 'testssl.sh' as const })),
  ];
}

/**
 * Compares a cipher scan with the report of testssl.sh on the same server.
 *
 * @param configured the groups that the server is configured to accept, if testssl.sh does not find all of them. The cipher scan
 *   must then report these, and no group that neither these nor testssl.sh's report contain.
 */
export function differencesOf(
  scan: Json,
  testssl: TestsslReport,
  configured: readonly string[] = [],
): Difference[] {
  const protocols = recordsAt(scan.protocols);
  const suites = protocols.flatMap(({ version, cipherSuites }) =>
    textsIn(cipherSuites).map((suite) => `${version} ${suite}`),
  );
  const theirSuites = Object.entries(testssl.protocols).flatMap(([version, names]) =>
    names.map((name) => `${version} ${name}`),
  );
  const versions = protocols.map(({ version }) => String(version));
  const found = [
    ...differ('protocols', versions, Object.keys(testssl.protocols)),
    ...differ('cipherSuites', suites, theirSuites),
    ...differ('groups', textsIn(scan.groups), testssl.groups),
    ...differ('alpn', textsIn(scan.alpn), testssl.alpn),
    ...(testssl.ocspStapling === null
      ? []
      : differ('ocspStapling', [String(scan.ocspStapling)], [String(testssl.ocspStapling)])),
  ];
  const ours = { suites, groups: textsIn(scan.groups) };
  const theirs = { ...testssl, suites: theirSuites };
  const isWrongGroup = ({ field, value, reportedBy }: Omit<Difference, 'reason'>): boolean =>
    field === 'groups' && reportedBy === 'scan' && !configured.includes(value);
  const missed = configured.filter((group) => ![...ours.groups, ...testssl.groups].includes(group));
  return [
    ...found.map((it) => ({ ...it, reason: isWrongGroup(it) ? null : reasonFor({ ...it, ours, theirs }) })),
    ...missed.map((value) => ({
      field: 'groups' as const,
      value,
      reportedBy: 'configuration' as const,
      reason: null,
    })),
  ];
}

/**
 * Scans a server and has testssl.sh examine it.
 *
 * @param stapling whether to compare OCSP stapling as well
 * @throws as `scanPort` and `runTestssl`
 */
export async function compareScan(port: number, stapling: boolean): Promise<Comparison> {
  return { ...(await scanPort(port)), testssl: await runTestssl(port, stapling) };
}
