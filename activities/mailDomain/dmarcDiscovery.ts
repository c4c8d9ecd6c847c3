import type { Dns } from './dns.ts';
import { readTags, type Tag } from './tags.ts';

/** A DMARC record and the domain that publishes it. */
export interface DmarcRecord {
  domain: string;
  text: string;
  tags: Tag[];
  /** Violations of the syntax. */
  faults: string[];
}

/** Maximum number of names that a tree walk queries (RFC 9989 section 4.10). */
const MAX_NAMES = 8;
/** The version is case-sensitive, its tag is not (RFC 9989 section 4.8). */
const DMARC = /^[vV][ \t]*=[ \t]*DMARC1[ \t]*(?:;|$)/;

export const tagOf = ({ tags }: DmarcRecord, wanted: string): string | null =>
  tags.find(({ name }) => name.toLowerCase() === wanted)?.value ?? null;

/** Looks up the DMARC records of one name, and how many other TXT records there are. */
export async function queryDmarc(
  domain: string,
  dns: Dns,
): Promise<{ records: DmarcRecord[]; others: number }> {
  const texts = await dns.texts(`_dmarc.${domain}`);
  const records = texts
    .filter((text) => DMARC.test(text))
    .map((text) => ({ domain, text, ...readTags(text) }));
  return { records, others: texts.length - records.length };
}

/** The domain and its parents, as a tree walk queries them. */
function walkedNames(domain: string): string[] {
  const labels = domain.split('.');
  const parents = labels.map((_, at) => labels.slice(at).join('.')).slice(1);
  return [domain, ...parents.slice(-(MAX_NAMES - 1))];
}

/** A single public-suffix flag ends the walk: the record says where the organizational domain is. */
const endsWalk = (record: DmarcRecord): boolean =>
  ['y', 'n'].includes(tagOf(record, 'psd')?.toLowerCase() ?? '');

interface Discovery {
  /** The record that applies to mail of the domain; null if there is none. */
  applies: DmarcRecord | null;
  /** The record that applies to mail of subdomains without a record of their own. */
  inherited: DmarcRecord | null;
  organizationalDomain: string;
}

/**
 * Finds the organizational domain and the record that applies (RFC 9989 section 4.10). RFC 7489, which it replaces, used a
 * list of public suffixes instead of the walk.
 *
 * @throws ServiceError as `Dns.lookup`
 */
export async function discoverDmarc(domain: string, dns: Dns): Promise<Discovery> {
  const found: DmarcRecord[] = [];
  for (const name of walkedNames(domain)) {
    const { records } = await queryDmarc(name, dns);
    // More than one record counts as none.
    const [record] = records.length === 1 ? records : [];
    if (record !== undefined) found.push(record);
    if (record !== undefined && endsWalk(record)) break;
  }
  const last = found.at(-1);
  const organizationalDomain = organizationOf(domain, last);
  const inherited = found.find((record) => record.domain === organizationalDomain) ?? last ?? null;
  const applies = found.find((record) => record.domain === domain) ?? inherited;
  return { applies, inherited, organizationalDomain };
}

/** @param last record with the fewest labels (section 4.10.2) */
function organizationOf(domain: string, last: DmarcRecord | undefined): string {
  if (last === undefined) return domain;
  const isSuffix = tagOf(last, 'psd')?.toLowerCase() === 'y' && last.domain !== domain;
  const labels = last.domain.split('.').length + (isSuffix ? 1 : 0);
  return domain.split('.').slice(-labels).join('.');
}
