import { Unsupported } from './selectors.ts';

/** The text that stands for each escape of a regular expression, such as a digit for `\d`. `\b` matches no character. */
const CLASSES: Readonly<Record<string, string>> = { w: 'a', d: '1', s: ' ', b: '' };

/** Returns one text that a regular expression matches, made of the first alternative of each group. */
function sample(source: string): string {
  let at = 0;
  function atom(): string {
    const sign = source[at++] ?? '';
    if (sign === '\\') {
      const name = source[at++] ?? '';
      return CLASSES[name] ?? name;
    }
    if (sign === '[') {
      const end = source.indexOf(']', at + 1);
      const members = source.slice(at, end);
      at = end + 1;
      if (members.startsWith('^')) return 'a';
      return members.startsWith('\\') ? (CLASSES[members[1] ?? ''] ?? 'a') : (members[0] ?? '');
    }
    if (sign === '(') {
      const kind = /^\?[:=!]/.exec(source.slice(at))?.[0] ?? '';
      at += kind.length;
      const text = alternatives();
      at += 1;
      return kind === '?!' ? '' : text;
    }
    if (sign === '.') return 'a';
    return sign === '^' || sign === '$' ? '' : sign;
  }
  function sequence(): string {
    let text = '';
    while (at < source.length && source[at] !== '|' && source[at] !== ')') {
      const one = atom();
      const quantifier = /^(?:[?*+]|\{\d+(?:,\d*)?\})\??/.exec(source.slice(at))?.[0] ?? '';
      at += quantifier.length;
      const count = /^\{(\d+)/.exec(quantifier)?.[1];
      if (count !== undefined) text += one.repeat(Number(count));
      else if (!/^[?*]/.test(quantifier)) text += one;
    }
    return text;
  }
  function alternatives(): string {
    const first = sequence();
    while (source[at] === '|') {
      at += 1;
      sequence();
    }
    return first;
  }
  return alternatives();
}

/** Returns an address that the pattern of a rule matches. @throws Unsupported */
export function addressFor(pattern: string | undefined): string {
  if (pattern === undefined || pattern === '') return 'https://harbour.example/';
  // `https?` and a protocol that is left out become `https`.
  const text = sample(pattern.replace(/https\?/g, 'https')).replace(/^(?!https?:)/, 'https://');
  const address = URL.parse(text)?.href;
  if (address === undefined || !new RegExp(pattern).test(address))
    throw new Unsupported(`pattern: ${pattern}`);
  return address;
}
