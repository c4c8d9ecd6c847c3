/** A field of a record in the form of RFC 6376 section 3.2, `name=value`. */
export interface Tag {
  name: string;
  value: string;
}

const TAG = /^([a-z0-9][\w.-]*)[ \t]*=[ \t]*([^;=]*[^;= \t]|[^;]*[^; \t])$/i;

/**
 * Splits a record at its semicolons; one may follow the last field.
 *
 * @returns the fields, and the parts that are none
 */
export function readTags(record: string): { tags: Tag[]; faults: string[] } {
  const parts = record.split(';').map((part) => part.trim());
  if (parts.at(-1) === '') parts.pop();
  const tags: Tag[] = [];
  const faults: string[] = [];
  for (const part of parts) {
    const [, name, value] = TAG.exec(part) ?? [];
    if (name === undefined || value === undefined)
      faults.push(part === '' ? 'A field is empty.' : `\`${part}\` is not of the form \`name=value\`.`);
    else tags.push({ name, value });
  }
  return { tags, faults };
}

/** Names that occur more than once. */
export const repeated = (tags: readonly Tag[]): string[] => [
  ...new Set(tags.map(({ name }) => name).filter((name, at, all) => all.indexOf(name) !== at)),
];
