import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type Router from '@koa/router';
import type { Registry } from '../../../schemas/registry.ts';
import type { Context, State } from '../../http/context.ts';
import { createDocument, type Document, sendDocument } from '../../http/document.ts';
import { filesBelow, scriptFile } from './scriptFile.ts';
import { styleSheets } from './styleSheet.ts';

const own = (path: string) => new URL(`../${path}`, import.meta.url);

/** A file of pdf.js, which draws previews of PDFs. This build supports browsers of several years. */
const ofPdfJs = (name: string): Document =>
  createDocument(
    'text/javascript; charset=utf-8',
    readFileSync(fileURLToPath(import.meta.resolve(`pdfjs-dist/legacy/build/${name}`))),
  );

/** The folders with style sheets. Those of pages come last, so that a page can change what it shares. */
const STYLE_FOLDERS = ['frame/style/', 'components/', 'operator/', 'pages/'];

/**
 * Registers the style sheet and the script of the dashboard, which are joined from the files beside the pages and components
 * that they belong to, pdf.js, and the list of the tools for the command palette (`palette.js`).
 */
export function assetRoutes(router: Router<State>, registry: Registry): void {
  const toolTitles = [...registry.values()].map(({ name, title }) => ({ name, title }));
  const files = {
    'style.css': styleSheets(STYLE_FOLDERS.flatMap((folder) => filesBelow(own(folder), '.css'))),
    // The dashboard has the colours that the visitor has chosen on the site.
    'dashboard.js': scriptFile([...filesBelow(own(''), '.js'), own('../site/scripts/theme.js')]),
    'pdf.mjs': ofPdfJs('pdf.min.mjs'),
    'pdf.worker.mjs': ofPdfJs('pdf.worker.min.mjs'),
    'tools.json': createDocument('application/json; charset=utf-8', JSON.stringify(toolTitles)),
  };
  for (const [name, file] of Object.entries(files))
    router.get(`/dashboard/${name}`, (ctx: Context) => sendDocument(ctx, file));
}
