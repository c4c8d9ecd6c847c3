import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a test made and somebody may want to look at; git does not keep it. */
const FOLDER = new URL('../artefacts/', import.meta.url).pathname;

/** @param group folder of its own, under `test/artefacts` */
export function keepPicture(group: string, name: string, picture: Uint8Array): void {
  const folder = join(FOLDER, group);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name.replaceAll(/\W+/g, '-')}.png`), picture);
}
