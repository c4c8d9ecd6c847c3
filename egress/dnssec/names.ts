/** Names in this folder have the form that `readName` returns: lower case, with escapes, `.` for the root. */

/** Splits a name into the texts of its labels. */
export const splitName = (name: string): string[] =>
  name === '.' ? [] : (name.match(/(?:\\.|[^.\\])+/gs) ?? []);
const joinName = (labels: readonly string[]): string => (labels.length === 0 ? '.' : labels.join('.'));

/** The name with only its last labels. */
export const suffixOf = (name: string, labels: number): string => {
  const all = splitName(name);
  return joinName(all.slice(all.length - labels));
};
export const parentOf = (name: string): string => joinName(splitName(name).slice(1));
export const isWithin = (name: string, ancestor: string): boolean =>
  ancestor === '.' || suffixOf(name, splitName(ancestor).length) === ancestor;

/** Number of labels as RRSIG records count them: without a wildcard (RFC 4034 section 3.1.3). */
export function countLabels(name: string): number {
  const labels = splitName(name);
  return labels[0] === '*' ? labels.length - 1 : labels.length;
}

const labelBytes = (label: string): Buffer =>
  Buffer.from(
    label.replace(/\\(\d{3}|.)/gs, (_, code: string) =>
      code.length === 3 ? String.fromCharCode(Number(code)) : code,
    ),
    'latin1',
  );

/** Encodes a name without compression, in canonical form (RFC 4034 section 6.2). */
export const toWire = (name: string): Buffer =>
  Buffer.concat([
    ...splitName(name)
      .map(labelBytes)
      .flatMap((label) => [Buffer.of(label.length), label]),
    Buffer.of(0),
  ]);

/** Compares names in canonical order (RFC 4034 section 6.1). */
export function compareNames(one: string, other: string): number {
  const [left, right] = [one, other].map((name) => splitName(name).map(labelBytes).reverse());
  for (const [index, label] of (left ?? []).entries()) {
    const its = right?.[index];
    const order = its === undefined ? 1 : Buffer.compare(label, its);
    if (order !== 0) return order;
  }
  return (left?.length ?? 0) - (right?.length ?? 0);
}
