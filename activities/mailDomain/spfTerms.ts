import { parseHost } from '../../schemas/formats/hostname.ts';
import type { DomainReport } from './verdict.ts';

export type SpfTerm = DomainReport['spf']['terms'][number] & {
  /** Domain that a mechanism or redirect names, without prefix lengths; null if it names none. */
  domain: string | null;
  /** Lengths of the prefixes of addresses that `a` and `mx` compare. */
  prefixes: Readonly<Record<4 | 6, number>>;
};
export type SpfResult = NonNullable<SpfTerm['result']>;

const RESULTS: Readonly<Record<string, SpfResult>> = {
  '': 'pass',
  '+': 'pass',
  '-': 'fail',
  '~': 'softfail',
  '?': 'neutral',
};
const TERM = /^([-+~?]?)([a-z][a-z0-9._-]*)(?:([:=/])(.*))?$/i;

/** RFC 7208 section 7.1. The letters c, r and t are for explanations (section 7.2). */
const MACRO = /%(?:[%_-]|\{[slodiphv](?:[1-9]\d*)?r?[-.+,/_=]*\})/gi;
const EXPLANATION_MACRO = /%(?:[%_-]|\{[slodiphvcrt](?:[1-9]\d*)?r?[-.+,/_=]*\})/gi;
const PRINTABLE = /^[\x21-\x7e]+$/;
const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/i;

/** Whether the text is a `macro-string` (RFC 7208 section 7.1). */
const isMacroString = (text: string, macro: RegExp): boolean =>
  text === '' || (PRINTABLE.test(text) && !text.replaceAll(macro, '').includes('%'));

/** Whether the text is a `domain-spec` (RFC 7208 section 7.1): it ends with a macro or a top-level label. */
function isDomainSpec(text: string): boolean {
  if (text === '' || !isMacroString(text, MACRO)) return false;
  const rest = text.replaceAll(MACRO, '%');
  if (rest.endsWith('%')) return true;
  const labels = rest.replace(/\.$/, '').split('.');
  const top = labels.at(-1) ?? '';
  return labels.length > 1 && LABEL.test(top) && !/^\d+$/.test(top);
}

/**
 * Expands the macros of a `domain-spec` that are the same for every mail: `%{d}`, the domain of the record, and `%{o}`, that of the sender
 * (RFC 7208 section 7.3).
 *
 * @param domains values of the letters
 * @returns null if it has other macros
 */
export function expandMacros(text: string, domains: Readonly<Record<string, string>>): string | null {
  let isKnown = true;
  const expanded = text.replaceAll(MACRO, (macro) => {
    const [, letter = '', digits = '', reversed = '', delimiters = ''] =
      /^%\{(.)(\d*)(r?)(.*)\}$/i.exec(macro) ?? [];
    const value = domains[letter.toLowerCase()];
    if (value === undefined) isKnown = false;
    const parts = [...(delimiters || '.')].reduce(
      (all, by) => all.flatMap((it) => it.split(by)),
      [value ?? ''],
    );
    if (reversed !== '') parts.reverse();
    return parts.slice(digits === '' ? 0 : -Number(digits)).join('.');
  });
  return isKnown ? expanded : null;
}

const WHOLE = { 4: 32, 6: 128 } as const;

/** Splits `domain/24//64`. @returns null for a prefix length that is too long */
function splitPrefixes(value: string): { domain: string; prefixes: SpfTerm['prefixes'] } | null {
  const [six = '', sixBits = '128'] = /\/\/(0|[1-9]\d{0,2})$/.exec(value) ?? [];
  const rest = value.slice(0, value.length - six.length);
  const [four = '', fourBits = '32'] = /\/(0|[1-9]\d?)$/.exec(rest) ?? [];
  if (Number(sixBits) > 128 || Number(fourBits) > 32) return null;
  return {
    domain: rest.slice(0, rest.length - four.length),
    prefixes: { 4: Number(fourBits), 6: Number(sixBits) },
  };
}

/** Whether the text is an address of that family with an optional prefix length. */
function isNetwork(text: string, family: 4 | 6): boolean {
  const [address = '', bits, ...more] = text.split('/');
  if (more.length > 0 || (bits !== undefined && !/^(?:0|[1-9]\d{0,2})$/.test(bits))) return false;
  if (Number(bits ?? 0) > (family === 4 ? 32 : 128)) return false;
  if (family === 6) {
    const host = parseHost(address);
    return host.kind === 'address' && host.family === 6 && !address.startsWith('[');
  }
  const numbers = address.split('.');
  return numbers.length === 4 && numbers.every((it) => /^(?:0|[1-9]\d{0,2})$/.test(it) && Number(it) < 256);
}

const argumentOf = (separator: string, value: string): string => (separator === '/' ? `/${value}` : value);

/** The domain that a mechanism names; undefined when its argument violates the grammar. */
function readArgument(name: string, separator: string, value: string): string | null | undefined {
  if (separator === ':' && value === '') return undefined;
  const needsDomain = (text: string): string | undefined => (isDomainSpec(text) ? text : undefined);
  switch (name) {
    case 'all':
      return separator === '' ? null : undefined;
    case 'ip4':
    case 'ip6':
      return separator === ':' && isNetwork(value, name === 'ip4' ? 4 : 6) ? null : undefined;
    case 'include':
    case 'exists':
      return separator === ':' ? needsDomain(value) : undefined;
    case 'ptr':
      return separator === '' ? null : separator === ':' ? needsDomain(value) : undefined;
    case 'a':
    case 'mx': {
      const split = splitPrefixes(argumentOf(separator, value));
      if (split === null) return undefined;
      if (separator === ':') return needsDomain(split.domain);
      return split.domain === '' ? null : undefined;
    }
    default:
      return undefined;
  }
}

function readTerm(text: string): SpfTerm | null {
  const [, qualifier = '', rawName = '', separator = '', value = ''] = TERM.exec(text) ?? [];
  const name = rawName.toLowerCase();
  if (separator === '=') {
    if (qualifier !== '') return null;
    const term = { kind: 'modifier', name, value, result: null, domain: null, prefixes: WHOLE } as const;
    if (name === 'redirect') return isDomainSpec(value) ? { ...term, domain: value } : null;
    if (name === 'exp') return isDomainSpec(value) ? term : null;
    return isMacroString(value, EXPLANATION_MACRO) ? term : null;
  }
  const domain = readArgument(name, separator, value);
  if (domain === undefined) return null;
  const argument = separator === '' ? null : argumentOf(separator, value);
  const prefixes = splitPrefixes(argument ?? '')?.prefixes ?? WHOLE;
  return { kind: 'mechanism', name, value: argument, result: RESULTS[qualifier] ?? 'pass', domain, prefixes };
}

/** Whether a TXT record is an SPF record (RFC 7208 section 4.5). */
export const isSpf = (text: string): boolean => /^v=spf1(?: |$)/i.test(text);

/**
 * Parses an SPF record (RFC 7208 section 12).
 *
 * @returns the terms, and a sentence for each violation of the grammar
 */
export function parseSpf(record: string): { terms: SpfTerm[]; faults: string[] } {
  const terms: SpfTerm[] = [];
  const faults: string[] = [];
  for (const text of record.split(' ').slice(1)) {
    if (text === '') continue;
    const term = readTerm(text);
    if (term === null) faults.push(`\`${text}\` is not a valid SPF term.`);
    else terms.push(term);
  }
  for (const name of ['redirect', 'exp'])
    if (terms.filter((term) => term.kind === 'modifier' && term.name === name).length > 1)
      faults.push(`The modifier ${name} occurs more than once.`);
  return { terms, faults };
}
