import { readFileSync } from 'node:fs';
import type { HostAddresses } from '../../egress/resolver.ts';

/** A row of a file in test/cases; test/cases/ssrf.README explains the kinds. */
export interface SsrfCase {
  input: string;
  kind: string;
  verdict: string;
  why: string;
}

const readCases = (file: string): SsrfCase[] =>
  readFileSync(new URL(`../cases/${file}`, import.meta.url), 'utf8')
    .split('\n')
    .slice(1)
    .filter((line) => line !== '')
    .map((line) => {
      const [input = '', kind = '', verdict = '', why = ''] = line.split('\t');
      return { input: JSON.parse(`"${input}"`), kind, verdict, why };
    });

export const SSRF_CASES: readonly SsrfCase[] = [...readCases('ssrf.tsv'), ...readCases('ssrf-more.tsv')];

export const casesOf = (kind: string): SsrfCase[] => SSRF_CASES.filter((row) => row.kind === kind);

/** Parses the records of a DNS response: `A:1.2.3.4,CNAME:b.example`. */
function readRecords(text: string): HostAddresses {
  const records = text.split(',').map((record) => /^(A|AAAA|CNAME):(.*)$/.exec(record) ?? []);
  const of = (...types: string[]) =>
    records.flatMap(([, type = '', data = '']) => (types.includes(type) ? [data] : []));
  return { addresses: of('A', 'AAAA'), chain: of('CNAME') };
}

/** Parses the input of a row of kind `dns`: a host, and the DNS resolver's responses in order. */
export function readDnsCase(input: string): { host: string; answers: HostAddresses[] } {
  const [host = '', ...groups] = input.split('|');
  return { host, answers: groups.map(readRecords) };
}
