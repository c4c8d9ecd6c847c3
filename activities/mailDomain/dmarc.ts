import { type DmarcRecord, discoverDmarc, queryDmarc, tagOf } from './dmarcDiscovery.ts';
import type { Dns } from './dns.ts';
import { isUri, receiverOf } from './reportUris.ts';
import { repeated, trimSpaces } from './tags.ts';
import { type DomainReport, type Findings, newFindings, orError, verdictOf } from './verdict.ts';

type Report = DomainReport['dmarc'];
type Policy = NonNullable<Report['policy']>;

/** From the weakest to the strongest. */
const POLICIES: readonly Policy[] = ['none', 'quarantine', 'reject'];
const KNOWN = ['v', 'p', 'sp', 'np', 'rua', 'ruf', 'adkim', 'aspf', 'fo', 't', 'psd'];
/** Tags of RFC 7489 that RFC 9989 removed. */
const REMOVED = ['pct', 'rf', 'ri'];
/** Maximum number of domains of report addresses that are checked. */
const MAX_RECEIVERS = 5;
/** A size limit of RFC 7489, which may follow a URI. */
const SIZE = /!\d+[kmgt]?$/i;

const NOTHING = {
  record: null,
  domain: null,
  organizationalDomain: null,
  policy: null,
  subdomainPolicy: null,
  nonexistentSubdomainPolicy: null,
  testing: null,
  dkimAlignment: null,
  spfAlignment: null,
  aggregateReports: [],
  failureReports: [],
  failureOptions: [],
};

/** Reads a tag with few possible values; reports others. */
function oneOf<T extends string>(
  record: DmarcRecord,
  tag: string,
  values: readonly T[],
  { errors }: Findings,
): T | null {
  const text = tagOf(record, tag)?.toLowerCase();
  if (text === undefined) return null;
  const value = values.find((it) => it === text);
  if (value === undefined)
    errors.push(`The tag ${tag} must be one of ${values.join(', ')}, not \`${text}\`.`);
  return value ?? null;
}

const isReceiver = (uri: string): boolean => isUri(uri.replace(SIZE, ''));

const urisOf = (record: DmarcRecord, tag: string): string[] =>
  tagOf(record, tag)?.split(',').map(trimSpaces) ?? [];

function readUris(record: DmarcRecord, tag: string, findings: Findings): string[] {
  const uris = urisOf(record, tag);
  for (const uri of uris)
    if (!isReceiver(uri))
      findings.errors.push(
        `The tag ${tag} holds \`${uri}\`, which is not a URI such as mailto:reports@example.com.`,
      );
    else if (!/^mailto:/i.test(uri))
      findings.warnings.push(`Most receivers send reports only to mailto addresses, not to \`${uri}\`.`);
    else if (SIZE.test(uri)) findings.warnings.push(`The size limit in \`${uri}\` is ignored (RFC 9989).`);
  return uris;
}

function readOptions(record: DmarcRecord, { errors, warnings }: Findings): string[] {
  const text = tagOf(record, 'fo');
  if (text !== null && tagOf(record, 'ruf') === null)
    warnings.push('The tag fo is ignored without an address for failure reports (`ruf`).');
  const options = (text ?? '0').toLowerCase().split(':');
  const known = options.every((option) => /^[01ds]$/.test(option));
  const distinct = new Set(options).size === options.length;
  if (!known || !distinct || (options.includes('0') && options.includes('1')))
    errors.push('The tag fo must list `0` or `1`, and `d` and `s`, each once.');
  return options;
}

/** Reports syntax errors, and tags that are repeated, removed, unknown or in an unusual order. */
function checkTags(record: DmarcRecord, { errors, warnings }: Findings): void {
  errors.push(...record.faults);
  for (const name of repeated(record.tags.map(({ name, value }) => ({ name: name.toLowerCase(), value }))))
    errors.push(`The tag ${name} occurs more than once.`);
  for (const { name } of record.tags)
    if (REMOVED.includes(name.toLowerCase()))
      warnings.push(`The tag ${name} is obsolete and ignored by receivers that follow RFC 9989.`);
    else if (!KNOWN.includes(name.toLowerCase())) warnings.push(`The unknown tag ${name} is ignored.`);
  const order = record.tags.map(({ name }) => name.toLowerCase()).indexOf('p');
  if (order < 0)
    warnings.push(
      'Without `p` the policy is none if there is an address for reports, and receivers that follow RFC 7489 ignore the record.',
    );
  else if (order > 1) warnings.push('Some receivers expect `p` right after `v`.');
}

/** Adds a warning for each report address of another organization that has not agreed to receive reports (RFC 9990 section 4). */
async function checkReceivers(
  report: Report,
  domain: string,
  dns: Dns,
  { warnings }: Findings,
): Promise<void> {
  const uris = [...report.aggregateReports, ...report.failureReports];
  const receivers = new Set(uris.flatMap((uri) => receiverOf(uri.replace(SIZE, '')) ?? []));
  for (const receiver of [...receivers].slice(0, MAX_RECEIVERS)) {
    if (receiver === domain || receiver === report.organizationalDomain) continue;
    const { organizationalDomain } = await discoverDmarc(receiver, dns);
    if (organizationalDomain === report.organizationalDomain) continue;
    const { records } = await queryDmarc(receiver, {
      ...dns,
      texts: () => dns.texts(`${domain}._report._dmarc.${receiver}`),
    });
    if (records.length === 0)
      warnings.push(
        `${receiver} has not agreed to receive reports for ${domain}: ${domain}._report._dmarc.${receiver} has no record.`,
      );
  }
}

/**
 * The policies for the domain, its subdomains, and subdomains that do not exist. Without a valid `p`, or with an invalid `sp` or
 * `np`, receivers act as for `p=none` if there is an address for reports, and ignore the record otherwise (RFC 9989 section
 * 4.10.1).
 */
function readPolicies(record: DmarcRecord, findings: Findings): Record<'p' | 'sp' | 'np', Policy | null> {
  const read = (tag: string) => oneOf(record, tag, POLICIES, findings);
  const [p, sp, np] = [read('p'), read('sp'), read('np')];
  const isInvalid = (tag: string, value: Policy | null): boolean =>
    value === null && tagOf(record, tag) !== null;
  if (p !== null && !isInvalid('sp', sp) && !isInvalid('np', np))
    return { p, sp: sp ?? p, np: np ?? sp ?? p };
  const all = urisOf(record, 'rua').some(isReceiver) ? 'none' : null;
  if (all === null)
    findings.errors.push(
      'Receivers ignore the record: its policies are missing or invalid, and it names no address for aggregate reports (`rua`).',
    );
  return { p: all, sp: all, np: all };
}

/**
 * The policies for subdomains without a record of their own. They have the record of the organizational domain; `sp` and `np` of
 * records below it are ignored (RFC 9989 section 4.7).
 */
function policiesBelow(record: DmarcRecord, inherited: DmarcRecord, { warnings }: Findings) {
  for (const tag of ['sp', 'np'])
    if (tagOf(record, tag) !== null)
      warnings.push(`The tag ${tag} is ignored, because subdomains have the record of ${inherited.domain}.`);
  return readPolicies(inherited, newFindings());
}

/**
 * @param record applies to the domain
 * @param inherited applies to its subdomains
 * @param tag for which name the record is read: its own, a subdomain, or a subdomain that does not exist
 */
function readRecord(record: DmarcRecord, inherited: DmarcRecord, tag: 'p' | 'sp' | 'np', findings: Findings) {
  checkTags(record, findings);
  const aggregateReports = readUris(record, 'rua', findings);
  const policies = readPolicies(record, findings);
  const below = record === inherited ? policies : policiesBelow(record, inherited, findings);
  oneOf(record, 'psd', ['y', 'n', 'u'], findings);
  const mode = (tag: string) =>
    oneOf(record, tag, ['r', 's'], findings) === 's' ? ('strict' as const) : ('relaxed' as const);
  const policy = policies[tag];
  if (policy === 'none')
    findings.warnings.push('The policy is none: receivers deliver mail that fails DMARC.');
  const testing = oneOf(record, 't', ['y', 'n'], findings) === 'y';
  if (testing && policy !== null && policy !== 'none')
    findings.warnings.push(
      `The policy is only tested (\`t=y\`): receivers act as for ${POLICIES[POLICIES.indexOf(policy) - 1]} instead of ${policy}.`,
    );
  if (aggregateReports.length === 0)
    findings.warnings.push('There is no address for aggregate reports (`rua`).');
  return {
    record: record.text,
    domain: record.domain,
    policy,
    subdomainPolicy: below.sp,
    nonexistentSubdomainPolicy: below.np,
    testing,
    dkimAlignment: mode('adkim'),
    spfAlignment: mode('aspf'),
    aggregateReports,
    failureReports: readUris(record, 'ruf', findings),
    failureOptions: readOptions(record, findings),
  };
}

/** Checks the DMARC record that applies to a domain (RFC 9989). */
export async function checkDmarc(domain: string, dns: Dns): Promise<Report> {
  const findings = newFindings();
  const own = await orError('The DMARC record', findings, queryDmarc(domain, dns));
  const discovery = own && (await orError('A DMARC record', findings, discoverDmarc(domain, dns)));
  if (own === null || discovery === null) return { ...NOTHING, ...verdictOf(findings) };
  const { applies, inherited, organizationalDomain } = discovery;
  if (own.records.length > 1)
    findings.errors.push('There is more than one DMARC record, so that receivers ignore them all.');
  if (own.others > 0) findings.warnings.push(`_dmarc.${domain} has TXT records that are no DMARC records.`);
  if (applies === null) {
    if (own.records.length === 0) findings.errors.push('There is no DMARC record.');
    return { ...NOTHING, organizationalDomain, ...verdictOf(findings) };
  }
  const isOwn = applies.domain === domain;
  // A name with a record of its own exists.
  const exists = isOwn || (await orError('The domain', findings, dns.exists(domain))) !== false;
  const read = readRecord(applies, inherited ?? applies, isOwn ? 'p' : exists ? 'sp' : 'np', findings);
  const report = { ...read, organizationalDomain, ...verdictOf(findings) };
  await orError(
    'The records of a receiver of reports',
    findings,
    checkReceivers(report, applies.domain, dns, findings),
  );
  return { ...report, ...verdictOf(findings) };
}
