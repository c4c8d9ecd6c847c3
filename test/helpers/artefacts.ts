import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Files that test runs leave for inspection; ignored by git except the sheets of pages. */
export const ARTEFACTS = new URL('../artefacts/', import.meta.url).pathname;

/** Saves a picture for inspection. @param group subfolder of `test/artefacts` */
export function keepPicture(group: string, name: string, picture: Uint8Array): void {
  const folder = join(ARTEFACTS, group);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name.replaceAll(/\W+/g, '-')}.png`), picture);
}
