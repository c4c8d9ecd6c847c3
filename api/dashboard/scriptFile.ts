import { readdirSync, readFileSync } from 'node:fs';
import { createDocument, type Document } from '../http/document.ts';

/** Joins the scripts of a folder in one file. Each script is a block, so that its variables are local to it. */
export function scriptFile(folder: URL): Document {
  const scripts = readdirSync(folder)
    .sort()
    .map((name) => `{\n${readFileSync(new URL(name, folder), 'utf8')}}\n`);
  return createDocument('text/javascript; charset=utf-8', `'use strict';\n${scripts.join('')}`);
}
