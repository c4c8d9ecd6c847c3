import type { Findings } from './verdict.ts';

/** A field of a record, `name=value`. */
export interface Tag {
  name: string;
  value: string;
}

/** A field of DMARC, with white space around `=` (RFC 9989 section 4.8). */
const TAG = /^([a-z]+)[ \t]*=[ \t]*(.+)$/is;
/** A field of TLS-RPT and MTA-STS (RFC 8460 section 3, RFC 8461 section 3.1). */
const FIELD = /^([a-z\d][\w.-]{0,31})=([^ \t].*)$/is;
/** The value of a field that those do not define. */
const EXTENSION = /^[\x21-\x3c\x3e-\x7e]+$/;
const UNPRINTABLE = /[^\t\x20-\x7e]/u;

/** Removes spaces and tabs at both ends. Other white space, such as no-break spaces, is no white space of the RFCs. */
export function trimSpaces(text: string): string {
  const isSpace = (at: number): boolean => text[at] === ' ' || text[at] === '\t';
  let [start, end] = [0, text.length];
  while (start < end && isSpace(start)) start++;
  while (start < end && isSpace(end - 1)) end--;
  return text.slice(start, end);
}

const codePoint = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/**
 * Splits a record at its semicolons; one may follow the last field.
 *
 * @param form groups: name, value
 * @returns the fields, and sentences about what violates the syntax
 */
export function readTags(record: string, form = TAG): { tags: Tag[]; faults: string[] } {
  const parts = record.split(';').map(trimSpaces);
  if (parts.at(-1) === '') parts.pop();
  const tags: Tag[] = [];
  const faults: string[] = [];
  for (const part of parts) {
    const [, name, value] = form.exec(part) ?? [];
    const [character] = UNPRINTABLE.exec(part) ?? [];
    if (character !== undefined)
      faults.push(`\`${part}\` contains ${codePoint(character)}, which records must not contain.`);
    else if (name === undefined)
      faults.push(part === '' ? 'A field is empty.' : `\`${part}\` is not of the form \`name=value\`.`);
    if (name !== undefined && value !== undefined) tags.push({ name, value });
  }
  return { tags, faults };
}

/**
 * Reads a record of TLS-RPT or MTA-STS, whose field names are case-sensitive.
 *
 * @param known the field that the RFC defines
 * @returns its values
 */
export function readFields(record: string, known: string, { errors, warnings }: Findings): string[] {
  const { tags, faults } = readTags(record, FIELD);
  errors.push(...faults);
  for (const { name, value } of tags.slice(1)) {
    if (name === known) continue;
    warnings.push(`The unknown field ${name} is ignored.`);
    if (!EXTENSION.test(value) && !UNPRINTABLE.test(value))
      errors.push(`The value of the unknown field ${name} contains a space or \`=\`.`);
  }
  return tags.filter(({ name }) => name === known).map(({ value }) => value);
}

/** Names that occur more than once. */
export const repeated = (tags: readonly Tag[]): string[] => [
  ...new Set(tags.map(({ name }) => name).filter((name, at, all) => all.indexOf(name) !== at)),
];
