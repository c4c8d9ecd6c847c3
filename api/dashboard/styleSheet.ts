import { readFileSync } from 'node:fs';
import { createDocument, type Document } from '../http/document.ts';

const BASE = readFileSync(new URL('base.css', import.meta.url), 'utf8');

/** Reads a style sheet and prepends the shared base. */
export const styleSheet = (file: URL): Document =>
  createDocument('text/css; charset=utf-8', `${BASE}\n${readFileSync(file, 'utf8')}`);
