import { trimSpaces } from './tags.ts';
import type { Findings } from './verdict.ts';

export interface MtaStsPolicy {
  mode: 'enforce' | 'testing' | 'none' | null;
  maxAgeSeconds: number | null;
  mx: string[];
}

/** RFC 8461 section 3.2: at most 31557600 seconds, "in the range of weeks or greater". */
const MAX_AGE = 31_557_600;
const WEEK = 7 * 86_400;
const MODES = ['enforce', 'testing', 'none'] as const;
const LABEL = /^[a-z0-9-]{1,63}$/i;
const NAME = /^[a-z0-9][\w.-]{0,31}$/i;

const isPattern = (text: string): boolean =>
  text
    .replace(/^\*\./, '')
    .split('.')
    .every((label) => LABEL.test(label) && !label.startsWith('-') && !label.endsWith('-'));

/** Reads the policy of MTA-STS (RFC 8461 section 3.2). */
export function readMtaStsPolicy(text: string, { errors, warnings }: Findings): MtaStsPolicy {
  const fields = new Map<string, string[]>();
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  for (const [at, line] of lines.entries()) {
    if (line === '') {
      if (at < lines.length - 1)
        warnings.push(`Line ${at + 1} of the policy is empty, which some senders may not accept.`);
      continue;
    }
    const [name = '', ...rest] = line.split(':');
    const value = trimSpaces(rest.join(':'));
    if (!NAME.test(name) || value === '' || /\p{Cc}/u.test(value))
      errors.push(`Line ${at + 1} of the policy is not of the form \`name: value\`.`);
    else fields.set(name, [...(fields.get(name) ?? []), value]);
  }
  const first = (name: string): string | undefined => fields.get(name)?.[0];
  for (const [name, values] of fields) {
    if (!['version', 'mode', 'max_age', 'mx'].includes(name))
      warnings.push(`The unknown field ${name} of the policy is ignored.`);
    else if (name !== 'mx' && values.length > 1)
      warnings.push(`The field ${name} of the policy occurs more than once; only the first counts.`);
  }
  if (first('version') !== 'STSv1') errors.push('The policy has no `version: STSv1`.');
  const mode = MODES.find((it) => it === first('mode')) ?? null;
  if (mode === null) errors.push('The policy has no `mode` of enforce, testing or none.');
  const age = first('max_age') ?? '';
  const maxAgeSeconds = /^\d{1,10}$/.test(age) && Number(age) <= MAX_AGE ? Number(age) : null;
  if (maxAgeSeconds === null) errors.push(`The policy has no \`max_age\` from 0 to ${MAX_AGE}.`);
  else if (maxAgeSeconds < WEEK && mode !== 'none')
    warnings.push('The policy should be cached for weeks: `max_age` is less than one.');
  const mx = fields.get('mx') ?? [];
  for (const name of mx)
    if (!isPattern(name)) errors.push(`The policy names \`${name}\`, which is not a mail server.`);
  if (mx.length === 0 && mode !== null && mode !== 'none')
    errors.push('The policy names no mail server (`mx`).');
  return { mode, maxAgeSeconds, mx };
}

/** Whether a policy covers a mail server; `*.` stands for one label (RFC 8461 section 4.1). */
export const covers = (patterns: readonly string[], host: string): boolean =>
  patterns.some((pattern) => {
    const name = pattern.toLowerCase();
    return name.startsWith('*.') ? host.replace(/^[^.]+/, '*') === name : host === name;
  });
