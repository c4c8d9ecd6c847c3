import {
  type AddressSet,
  addressesOf,
  difference,
  EVERY_ADDRESS,
  intersection,
  isEmpty,
  NO_ADDRESS,
  shareOf,
  union,
} from './addressSets.ts';
import type { Dns } from './dns.ts';
import { expandMacros, isSpf, parseSpf, type SpfResult, type SpfTerm } from './spfTerms.ts';
import { type DomainReport, type Findings, newFindings, orError, verdictOf } from './verdict.ts';

/** RFC 7208 section 4.6.4. */
const MAX_LOOKUPS = 10;
const MAX_VOID_LOOKUPS = 2;
const MAX_MX = 10;
/** Maximum number of large blocks of addresses that are counted, of all records together. Usual records have none. */
const MAX_BLOCKS = 500;
/** Longest record that fits into a small DNS answer (RFC 7208 section 3.4). */
const COMMON_BYTES = 450;

/** Share of all addresses above which a record lets practically every server send, and from which it is worth a warning. */
const ALMOST_ALL = 0.95;
const LARGE_PART = 0.1;

/** The evaluation ends with `permerror`. */
class PermanentError extends Error {
  override readonly name = 'PermanentError';
}

interface Evaluation {
  dns: Dns;
  /** The domain whose record is checked, which is that of the sender. */
  sender: string;
  findings: Findings;
  lookups: number;
  voidLookups: number;
  /** Blocks of addresses that were counted. */
  blocks: number;
  included: DomainReport['spf']['included'];
}

function countLookup(evaluation: Evaluation): void {
  evaluation.lookups++;
  if (evaluation.lookups > MAX_LOOKUPS)
    throw new PermanentError(
      `The record needs more than ${MAX_LOOKUPS} DNS look-ups, so that receivers treat it as broken.`,
    );
}

function countVoid(evaluation: Evaluation, term: string): void {
  evaluation.voidLookups++;
  evaluation.findings.warnings.push(`\`${term}\` finds nothing in DNS.`);
  if (evaluation.voidLookups > MAX_VOID_LOOKUPS)
    throw new PermanentError(
      `More than ${MAX_VOID_LOOKUPS} DNS look-ups of the record find nothing, so that receivers treat it as broken.`,
    );
}

/** The result of a record. */
interface Outcome {
  /** The result for a sender that no mechanism but `all` matches. */
  all: SpfResult;
  /** Addresses that certainly pass; single addresses are left out. */
  passing: AddressSet;
}

/** Follows `include` or `redirect`. @throws PermanentError when there is no usable record (sections 5.2 and 6.1) */
async function follow(
  evaluation: Evaluation,
  domain: string,
  path: readonly string[],
  term: string,
): Promise<Outcome> {
  const name = domain.toLowerCase().replace(/\.$/, '');
  if (path.includes(name)) throw new PermanentError(`\`${term}\` leads back to ${name}.`);
  const records = (await evaluation.dns.texts(name)).filter(isSpf);
  const [record] = records;
  if (record === undefined) throw new PermanentError(`\`${term}\` names a domain without an SPF record.`);
  if (records.length > 1)
    throw new PermanentError(`\`${term}\` names a domain with more than one SPF record.`);
  evaluation.included.push({ domain: name, record });
  const { terms, faults } = parseSpf(record);
  if (faults[0] !== undefined) throw new PermanentError(`The record of ${name} is invalid: ${faults[0]}`);
  return evaluate(evaluation, name, terms, [...path, name]);
}

/** Returns the addresses of a block; none when `MAX_BLOCKS` were counted. The work grows with the square of their number. */
function countBlock(evaluation: Evaluation, text: string): AddressSet {
  const set = addressesOf(text);
  if (set === NO_ADDRESS || evaluation.blocks >= MAX_BLOCKS) return NO_ADDRESS;
  evaluation.blocks++;
  return set;
}

/** Looks up the addresses of a host and returns the blocks around them. */
async function blocksAround(
  evaluation: Evaluation,
  host: string,
  { prefixes }: SpfTerm,
): Promise<AddressSet> {
  const { dns } = evaluation;
  const lookups = await Promise.all((['A', 'AAAA'] as const).map((type) => dns.lookup(host, type)));
  return lookups
    .flatMap(({ records }) => records)
    .flatMap((record) => ('address' in record ? [record.address] : []))
    .map((address) => countBlock(evaluation, `${address}/${prefixes[address.includes(':') ? 6 : 4]}`))
    .reduce(union, NO_ADDRESS);
}

/**
 * Evaluates a mechanism other than `all`.
 *
 * @returns the addresses that it certainly matches; single addresses are left out
 */
async function evaluateMechanism(
  evaluation: Evaluation,
  current: string,
  mechanism: SpfTerm,
  path: readonly string[],
): Promise<AddressSet> {
  const { dns, findings } = evaluation;
  const { name, domain, value, prefixes } = mechanism;
  const term = value === null || value.startsWith('/') ? `${name}${value ?? ''}` : `${name}:${value}`;
  const target = domain === null ? current : expandMacros(domain, { d: current, o: evaluation.sender });
  if (name === 'ip4' || name === 'ip6') return countBlock(evaluation, value ?? '');
  countLookup(evaluation);
  if (name === 'ptr') findings.warnings.push(`\`${term}\` should not be used (RFC 7208 section 5.5).`);
  if (name === 'ptr' || target === null) return NO_ADDRESS;
  if (name === 'include') return (await follow(evaluation, target, path, term)).passing;
  const isWide = prefixes[4] < 32 || prefixes[6] < 128;
  if (name === 'mx') {
    const { records } = await dns.lookup(target, 'MX');
    if (records.length === 0) countVoid(evaluation, term);
    if (records.length > MAX_MX)
      throw new PermanentError(`\`${term}\` finds more than ${MAX_MX} mail servers.`);
    if (!isWide) return NO_ADDRESS;
    const hosts = records.flatMap((record) => (record.type === 'MX' ? [record.exchange] : []));
    const blocks = await Promise.all(hosts.map((host) => blocksAround(evaluation, host, mechanism)));
    return blocks.reduce(union, NO_ADDRESS);
  }
  const found =
    name === 'a' ? await dns.hasAddress(target) : (await dns.lookup(target, 'A')).records.length > 0;
  if (!found) countVoid(evaluation, term);
  // `exists` looks up the same name for every sender.
  if (name === 'exists') return found ? EVERY_ADDRESS : NO_ADDRESS;
  return isWide ? blocksAround(evaluation, target, mechanism) : NO_ADDRESS;
}

/** Evaluates all terms, as for a sender that no mechanism but `all` matches. */
async function evaluate(
  evaluation: Evaluation,
  domain: string,
  terms: readonly SpfTerm[],
  path: readonly string[],
): Promise<Outcome> {
  const { warnings } = evaluation.findings;
  const mechanisms = terms.filter(({ kind }) => kind === 'mechanism');
  const redirect = terms.find(({ kind, name }) => kind === 'modifier' && name === 'redirect');
  for (const { name } of terms.filter(({ kind }) => kind === 'modifier'))
    if (name !== 'redirect' && name !== 'exp') warnings.push(`The unknown modifier ${name} is ignored.`);
  let passing = NO_ADDRESS;
  let left = EVERY_ADDRESS;
  for (const [at, term] of mechanisms.entries()) {
    if (term.name !== 'all' || term.result === null) {
      // A mechanism that every sender matched ends the evaluation (section 4.6.2).
      if (isEmpty(left)) continue;
      const matched = intersection(left, await evaluateMechanism(evaluation, domain, term, path));
      if (term.result === 'pass') passing = union(passing, matched);
      left = difference(left, matched);
      continue;
    }
    if (at < mechanisms.length - 1) warnings.push(`Mechanisms after \`all\` are ignored in ${domain}.`);
    if (redirect !== undefined) warnings.push(`\`redirect\` is ignored in ${domain} because of \`all\`.`);
    return { all: term.result, passing: term.result === 'pass' ? union(passing, left) : passing };
  }
  if (redirect === undefined || isEmpty(left)) return { all: 'neutral', passing };
  countLookup(evaluation);
  const target = expandMacros(redirect.domain ?? '', { d: domain, o: evaluation.sender });
  if (target === null) return { all: 'neutral', passing };
  const outcome = await follow(evaluation, target, path, `redirect=${redirect.value ?? ''}`);
  return { all: outcome.all, passing: union(passing, intersection(left, outcome.passing)) };
}

/** Warns of a record that lets a large part of all servers send, also by `include` or by blocks of addresses. */
function warnOfOpenness({ all, passing }: Outcome, { warnings }: Findings): void {
  const share = shareOf(passing);
  if (all === 'pass' || share[4] > ALMOST_ALL)
    warnings.push('The record lets every server send mail for the domain.');
  else if (share[6] > ALMOST_ALL)
    warnings.push('The record lets every server with an IPv6 address send mail for the domain.');
  else if (share[4] >= LARGE_PART)
    warnings.push(
      `The record lets servers send mail for the domain at ${Math.floor(share[4] * 100)} % of all IPv4 addresses.`,
    );
}

function warnOfStyle(record: string, terms: readonly SpfTerm[], findings: Findings): void {
  const bytes = Buffer.byteLength(record);
  if (bytes > COMMON_BYTES)
    findings.warnings.push(
      `The record has ${bytes} bytes; above ${COMMON_BYTES} the DNS answer may be too large for some receivers.`,
    );
  if (!terms.some(({ name }) => name === 'all' || name === 'redirect'))
    findings.warnings.push(
      'The record ends without `all` or `redirect`, so that other senders are neither allowed nor refused.',
    );
}

/** Checks the SPF record of a domain (RFC 7208). */
export async function checkSpf(domain: string, dns: Dns): Promise<DomainReport['spf']> {
  const findings = newFindings();
  const records = (await orError('The TXT records', findings, dns.texts(domain)))?.filter(isSpf);
  const [record] = records ?? [];
  const report = { record: null, terms: [], all: null, lookups: null, voidLookups: null, included: [] };
  if (records !== undefined && records.length > 1) findings.errors.push('There is more than one SPF record.');
  if (records?.length === 0) findings.errors.push('There is no SPF record.');
  if (record === undefined || findings.errors.length > 0) return { ...report, ...verdictOf(findings) };

  const { terms, faults } = parseSpf(record);
  const listed = terms.map(({ domain: _, prefixes: __, ...term }) => term);
  findings.errors.push(...faults);
  if (faults.length > 0) return { ...report, record, terms: listed, ...verdictOf(findings) };

  const evaluation: Evaluation = {
    dns,
    sender: domain,
    findings,
    lookups: 0,
    voidLookups: 0,
    blocks: 0,
    included: [],
  };
  const work = evaluate(evaluation, domain, terms, [domain]).catch((error: unknown) => {
    if (!(error instanceof PermanentError)) throw error;
    findings.errors.push(error.message);
    return null;
  });
  const outcome = await orError('A record that the SPF record names', findings, work);
  if (outcome !== null) {
    warnOfStyle(record, terms, findings);
    warnOfOpenness(outcome, findings);
  }
  const { lookups, voidLookups, included } = evaluation;
  return {
    record,
    terms: listed,
    all: outcome?.all ?? null,
    lookups,
    voidLookups,
    included,
    ...verdictOf(findings),
  };
}
