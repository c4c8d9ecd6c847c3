import { grade, isPostQuantum } from '../../activities/tls/grade.ts';
import { surveyTls } from '../../activities/tls/survey.ts';
import { createGuard } from '../../egress/guard.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { SURVEY_MS } from '../../schemas/tools/ssl-check.ts';
import { type Json, recordAt, recordsAt } from './json.ts';
import { reasonFor } from './surveyReasons.ts';
import { runTestssl, type TestsslReport } from './testssl.ts';
import { loadTool } from './tool.ts';

export const FIELDS = ['protocols', 'cipherSuites', 'groups', 'alpn', 'ocspStapling'] as const;
export type Field = (typeof FIELDS)[number];

/** A value that only one of the two programs reports, or that the server is configured with and neither reports. */
export interface Difference {
  field: Field;
  value: string;
  reportedBy: 'survey' | 'testssl.sh' | 'configuration';
  /** Why the programs differ; null when that is not known, which counts as an error of the survey. */
  reason: string | null;
}

export interface Comparison {
  survey: Json;
  testssl: TestsslReport;
  /** Whether ssl-check read the certificate; else only the survey was run, without the certificate check before it. */
  byTool: boolean;
  /** Duration of the call of ssl-check, or of the survey alone, in milliseconds. */
  ms: number;
}

const tool = await loadTool('ssl-check');
const resolver = { addresses: async () => ({ addresses: ['127.0.0.1'], chain: [] }) };
const egress = createGuard({ resolver, allow: [parseAllow('127.0.0.0/8')], ownPorts: [] });

/** Surveys without the certificate check. */
async function surveyAlone(port: number): Promise<Json> {
  const limits = { signal: new AbortController().signal, deadline: Date.now() + SURVEY_MS };
  const target = egress.parseTarget('example.com', { kind: 'host', port, pointer: '/host' });
  const offered = await surveyTls(egress, await egress.vet(target, limits), limits);
  return { ...offered, grade: grade(offered), postQuantum: offered.groups.some(isPostQuantum) };
}

/**
 * Surveys a server on loopback with ssl-check or, where ssl-check fails because Node's client and the server have no
 * cipher suite in common, with the survey alone.
 *
 * @throws ServiceError as `surveyTls`
 */
export async function surveyPort(port: number): Promise<Pick<Comparison, 'survey' | 'byTool' | 'ms'>> {
  let started = performance.now();
  try {
    const output = await tool.call({ host: `example.com:${port}`, survey: true }, { egress });
    return { survey: recordAt(output, 'survey'), byTool: true, ms: performance.now() - started };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'target_failed') throw error;
    started = performance.now();
    return { survey: await surveyAlone(port), byTool: false, ms: performance.now() - started };
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
    ...only(ours, theirs).map((value) => ({ field, value, reportedBy: 'survey' as const })),
    ...only(theirs, ours).map((value) => ({ field, value, reportedBy: 'testssl.sh' as const })),
  ];
}

/**
 * Compares a survey with the report of testssl.sh on the same server.
 *
 * @param configured the groups that the server is configured to accept, if testssl.sh does not find all of them. The survey
 *   must then report these, and no group that neither these nor testssl.sh's report contain.
 */
export function differencesOf(
  survey: Json,
  testssl: TestsslReport,
  configured: readonly string[] = [],
): Difference[] {
  const protocols = recordsAt(survey.protocols);
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
    ...differ('groups', textsIn(survey.groups), testssl.groups),
    ...differ('alpn', textsIn(survey.alpn), testssl.alpn),
    ...(testssl.ocspStapling === null
      ? []
      : differ('ocspStapling', [String(survey.ocspStapling)], [String(testssl.ocspStapling)])),
  ];
  const ours = { suites, groups: textsIn(survey.groups) };
  const theirs = { ...testssl, suites: theirSuites };
  const isWrongGroup = ({ field, value, reportedBy }: Omit<Difference, 'reason'>): boolean =>
    field === 'groups' && reportedBy === 'survey' && !configured.includes(value);
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
 * Surveys a server and has testssl.sh examine it.
 *
 * @param stapling whether to compare OCSP stapling as well
 * @throws as `surveyPort` and `runTestssl`
 */
export async function compareSurvey(port: number, stapling: boolean): Promise<Comparison> {
  return { ...(await surveyPort(port)), testssl: await runTestssl(port, stapling) };
}
