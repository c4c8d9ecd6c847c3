import { readdirSync, readFileSync } from 'node:fs';
import { createDocument, type Document } from '../http/document.ts';

const BASE = readFileSync(new URL('base.css', import.meta.url), 'utf8');

const joined = (parts: readonly string[]): Document =>
  createDocument('text/css; charset=utf-8', [BASE, ...parts].join('\n'));

/** Reads a style sheet and prepends the shared base. */
export const styleSheet = (file: URL): Document => joined([readFileSync(file, 'utf8')]);

/** Joins the style sheets of a folder, in the order of their names, after the shared base. */
export const styleSheets = (folder: URL): Document =>
  joined(
    readdirSync(folder)
      .sort()
      .map((name) => readFileSync(new URL(name, folder), 'utf8')),
  );
