import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { type LoadedPage, loadPage } from '../../activities/html/load.ts';
import { isRecord } from '../../schemas/isRecord.ts';

/** A page of WCXB with what the benchmark says of it. */
export interface Example {
  id: string;
  url: string;
  type: string;
  /** The text of its main content. */
  wanted: string;
  page: LoadedPage;
}

const field = (value: unknown, name: string): unknown => (isRecord(value) ? value[name] : undefined);
const textField = (value: unknown, name: string): string => String(field(value, name) ?? '');

/** Reads a page of the benchmark. @param folder of a split, with `ground-truth/` and `html/` */
export function readExample(folder: string, id: string): Example {
  const truth: unknown = JSON.parse(readFileSync(join(folder, 'ground-truth', `${id}.json`), 'utf8'));
  const given = textField(truth, 'url');
  const url = /^https?:/.test(given) ? given : `https://${given || 'page.invalid'}/`;
  const bytes = gunzipSync(readFileSync(join(folder, 'html', `${id}.html.gz`)));
  const type = textField(field(field(truth, '_internal'), 'page_type'), 'primary').replace(
    'category',
    'collection',
  );
  return {
    ...{ id, url, type: type || 'article' },
    wanted: textField(field(truth, 'ground_truth'), 'main_content'),
    page: loadPage({ url, statusCode: 200, contentType: 'text/html; charset=utf-8', bytes }),
  };
}
