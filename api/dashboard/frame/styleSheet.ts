import { readFileSync } from 'node:fs';
import { createDocument, type Document } from '../../http/document.ts';

const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
const BASE = read('base.css');
const DARK = read('dark.css');

const withoutComments = (css: string): string =>
  css
    .split('/*')
    .map((part, index) => (index === 0 ? part : part.slice(part.indexOf('*/') + 2)))
    .join('');

/**
 * Reads a style sheet of pages with light and dark colours for a `style` element: after the shared base, without comments
 * and line breaks.
 */
export const inlineStyle = (file: URL): string =>
  withoutComments([BASE, DARK, readFileSync(file, 'utf8')].join(' '))
    .replaceAll(/\s+/g, ' ')
    .trim();

/** Joins style sheets after the shared base with light and dark colours. */
export const styleSheets = (files: readonly URL[]): Document =>
  createDocument(
    'text/css; charset=utf-8',
    [BASE, DARK, ...files.map((file) => readFileSync(file, 'utf8'))].join('\n'),
  );
