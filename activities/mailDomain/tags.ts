/** A field of a record in the form of RFC 6376 section 3.2, `name=value`. */
export interface Tag {
  name: string;
  value: string;
}

const NAME = /^[a-z0-9][\w.-]*$/i;

/**
 * Splits a record at its semicolons; one may follow the last field.
 *
 * @returns the fields, and the parts that are not fields
 */
export function readTags(record: string): { tags: Tag[]; faults: string[] } {
  const parts = record.split(';').map((part) => part.trim());
  if (parts.at(-1) === '') parts.pop();
  const tags: Tag[] = [];
  const faults: string[] = [];
  for (const part of parts) {
    const [first = '', ...rest] = part.split('=');
    const [name, value] = [first.trim(), rest.join('=').trim()];
    if (!NAME.test(name) || value === '')
      faults.push(part === '' ? 'A field is empty.' : `\`${part}\` is not of the form \`name=value\`.`);
    else tags.push({ name, value });
  }
  return { tags, faults };
}

/** Names that occur more than once. */
export const repeated = (tags: readonly Tag[]): string[] => [
  ...new Set(tags.map(({ name }) => name).filter((name, at, all) => all.indexOf(name) !== at)),
];
