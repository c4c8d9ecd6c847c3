import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type ChildNode, isTag, isText, type Text } from 'domhandler';
import type { LoadedPage } from '../../activities/html/load.ts';
import { toMarkdown } from '../../activities/html/markdown.ts';
import { htmlText, pageText, textOf } from '../../activities/html/text.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import { cmarkGfm, markdownConverters } from '../provision/items/comparisons.ts';
import type { Report } from './report.ts';
import { table } from './table.ts';
import { readExample } from './wcxb.ts';

const WANTED = 0.95;
/** Number of pages that each process converts or renders. */
const CHUNK = 50;
const OURS = 'web-scrape';

/** Reads bodies from standard input, and prints the Markdown of each program, by body. */
const CONVERT = `
import { htmlToMarkdown } from 'mdream';
import Turndown from 'turndown';
import { gfm } from 'turndown-plugin-gfm';
const turndown = new Turndown({ headingStyle: 'atx', codeBlockStyle: 'fenced' }).use(gfm).remove(['script', 'style', 'noscript']);
const programs = { 'turndown with GFM': (html) => turndown.turndown(html), mdream: htmlToMarkdown };
function convert(program, html) {
  try {
    return program(html);
  } catch (error) {
    return String(error);
  }
}
const bodies = JSON.parse(await new Response(process.stdin).text());
const made = bodies.map((html) =>
  Object.fromEntries(Object.entries(programs).map(([name, program]) => [name, convert(program, html)])),
);
process.stdout.write(JSON.stringify(made));
`;

/** Reads Markdown by name from standard input, for each page, and prints the same as HTML. */
const RENDER = `
import json, sys, cmarkgfm
from cmarkgfm.cmark import Options
def render(markdown):
    return cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE)
json.dump([{name: render(it) for name, it in page.items()} for page in json.load(sys.stdin)], sys.stdout)
`;

interface Page {
  markdown: string;
  /** The body, for the other programs. */
  html: string;
  /** Three texts of the page without white space: the visible one, the whole one, and the whole one without form controls. */
  texts: readonly string[];
}

/** Elements whose text no reader of a page sees. */
const NO_TEXT = new Set(
  'audio canvas datalist head iframe noembed noframes object script style svg template title video rp'.split(
    ' ',
  ),
);
const CONTROLS = new Set(['select', 'textarea']);

/** Returns the texts of nodes, also those that styles hide. A `noscript` with elements was expanded. */
const textsOf = (nodes: readonly ChildNode[], withControls: boolean): Text[] =>
  nodes.flatMap((node) => {
    if (isText(node)) return node;
    if (!isTag(node) || NO_TEXT.has(node.name) || (!withControls && CONTROLS.has(node.name))) return [];
    return node.name === 'noscript' && !node.children.some(isTag) ? [] : textsOf(node.children, withControls);
  });

const squeezed = (text: string): string => text.replace(/\s+/gu, '');

function readPage(page: LoadedPage): Page {
  // The benchmark has removed the addresses of many images, and an image without one is its alternative text.
  page.$('img').remove();
  const body = page.$('body');
  const nodes = body.contents().toArray();
  const all = [true, false].map((withControls) => textOf(page, new Set(textsOf(nodes, withControls))));
  return {
    markdown: toMarkdown(nodes, { base: page.base }),
    html: body.html() ?? '',
    texts: [pageText(page), ...all].map(squeezed),
  };
}

/** Runs a program that reads and prints JSON. */
function run(
  command: string,
  args: readonly string[],
  input: unknown,
  cwd?: string,
): Record<string, unknown>[] {
  const options = { input: JSON.stringify(input), maxBuffer: 2 ** 29, cwd };
  const made: unknown = JSON.parse(execFileSync(command, args, options).toString());
  if (!Array.isArray(made) || !made.every(isRecord)) throw new Error(`${command} printed no list`);
  return made;
}

/**
 * Converts pages without their images to Markdown, has cmark-gfm render it, and compares the characters of the result, without white space, with those
 * of the page. They may be those that the page shows, or all of its text, with or without that of controls, because the programs know
 * no style sheets.
 *
 * @param folder of WCXB (github.com/Murrough-Foley/web-content-extraction-benchmark), with `dev/`
 */
export async function compareMarkdown(folder: string): Promise<Report> {
  const converters = await markdownConverters.get(console.error);
  const python = join(await cmarkGfm.get(console.error), 'bin/python');
  const base = join(folder, 'dev');
  const ids = readdirSync(join(base, 'ground-truth'))
    .map((name) => name.replace('.json', ''))
    .sort();
  const equal = new Map<string, number>();
  for (let from = 0; from < ids.length; from += CHUNK) {
    const chunk = ids.slice(from, from + CHUNK);
    const pages = chunk.map((id) => readPage(readExample(base, id).page));
    const bodies = pages.map(({ html }) => html);
    const others = run(process.execPath, ['--input-type=module', '-e', CONVERT], bodies, converters);
    const markdown = pages.map((page, at) => ({ [OURS]: page.markdown, ...others[at] }));
    for (const [at, made] of run(python, ['-c', RENDER], markdown).entries())
      for (const [program, html] of Object.entries(made)) {
        const isEqual = pages[at]?.texts.includes(squeezed(htmlText(String(html)))) ?? false;
        equal.set(program, (equal.get(program) ?? 0) + (isEqual ? 1 : 0));
        if (program === OURS && !isEqual) console.log(`${chunk[at]} differs`);
      }
  }
  const figures = [...equal].map(([program, count]) => ({
    program,
    pages: count,
    share: count / ids.length,
  }));
  const text = table(
    [`of ${ids.length} pages`, 'the rendered text is that of the page'],
    figures.map(({ program, share }) => [program, `${(100 * share).toFixed(1)} %`]),
  );
  return {
    figures,
    document: null,
    anchors: { name: 'markdown', text },
    isGood: (equal.get(OURS) ?? 0) >= WANTED * ids.length,
  };
}
