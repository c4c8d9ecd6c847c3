import { isTag, isText } from 'domhandler';
import { parseHtml } from '../parse.ts';
import type { PageIndex } from './pageIndex.ts';

/** A `noscript` element with less text only asks to enable scripts, or has an image. */
const MIN_WORDS = 40;
const MAX_NODES = 200_000;

/**
 * Parses the content of `noscript` elements that have much text, and puts it into the page. Forums that scripts build, such as
 * Discourse and Flarum, have their posts only there.
 *
 * @returns whether the page has changed
 */
export function expandNoscript({ listed }: PageIndex): boolean {
  let changed = false;
  for (const element of listed.get('noscript') ?? []) {
    if (element.parent !== null && isTag(element.parent) && element.parent.name === 'head') continue;
    const html = element.children.map((child) => (isText(child) ? child.data : '')).join('');
    const words = html.replaceAll(/<[^<>]*>/g, ' ').match(/[\p{L}\p{N}]+/gu)?.length ?? 0;
    if (words < MIN_WORDS) continue;
    const { children } = parseHtml(`<!doctype html><body>${html}`, false, MAX_NODES);
    const body = children
      .filter(isTag)
      .flatMap((root) => root.children)
      .filter(isTag)
      .find(({ name }) => name === 'body');
    if (body === undefined) continue;
    element.children = body.children;
    for (const child of element.children) child.parent = element;
    changed = true;
  }
  return changed;
}
