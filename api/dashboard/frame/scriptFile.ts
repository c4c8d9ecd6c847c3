import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { createDocument, type Document } from '../../http/document.ts';

/** Returns the files in a folder and its subfolders with an ending, in the order of their names. @param folder ends in `/` */
export const filesBelow = (folder: URL, ending: string): URL[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(ending))
    .sort()
    .sort((a, b) => basename(a).localeCompare(basename(b), 'en'))
    .map((path) => new URL(path, folder));

/** Joins scripts in one file. Each script is a block, so that its variables are local to it. */
export function scriptFile(scripts: readonly URL[]): Document {
  const blocks = scripts.map((script) => `{\n${readFileSync(script, 'utf8')}}\n`);
  return createDocument('text/javascript; charset=utf-8', `'use strict';\n${blocks.join('')}`);
}
