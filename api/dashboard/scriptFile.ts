import { readdirSync, readFileSync } from 'node:fs';
import { createDocument, type Document } from '../http/document.ts';

/**
 * Joins the scripts of a folder, and further ones, in one file. Each script is a block, so that its variables are local to
 * it.
 */
export function scriptFile(folder: URL, ...others: URL[]): Document {
  const own = readdirSync(folder)
    .sort()
    .map((name) => new URL(name, folder));
  const scripts = [...own, ...others].map((script) => `{\n${readFileSync(script, 'utf8')}}\n`);
  return createDocument('text/javascript; charset=utf-8', `'use strict';\n${scripts.join('')}`);
}
