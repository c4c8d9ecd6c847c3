/** Escapes a name as a reference token of a JSON Pointer (RFC 6901 section 3). */
export const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');
