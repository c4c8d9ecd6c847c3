import { readFileSync } from 'node:fs';

/**
 * A file in the output of an example, which `test/quality/exampleFiles.ts` makes with the tool.
 *
 * @param name of a file in `schemas/examples`
 */
export function exampleFile(name: string): { fileBase64: string; sizeBytes: number } {
  const file = readFileSync(new URL(`../examples/${name}`, import.meta.url));
  return { fileBase64: file.toString('base64'), sizeBytes: file.length };
}
