import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Artefacts of test runs for inspection; ignored by git. */
const FOLDER = new URL('../artefacts/', import.meta.url).pathname;

/** @param group folder of its own, under `test/artefacts` */
export function keepPicture(group: string, name: string, picture: Uint8Array): void {
  const folder = join(FOLDER, group);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name.replaceAll(/\W+/g, '-')}.png`), picture);
}
