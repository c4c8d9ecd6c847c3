/// <reference lib="dom" />
import { elementsBelow, shadowRootOf } from './elements.ts';

/** Returns the current document as HTML, with its shadow roots in `template` elements; null if it has more characters than this. */
export function documentHtml(most: number): string | null {
  const root = document.documentElement;
  const shadowRoots = elementsBelow(document).flatMap((element) => shadowRootOf(element) ?? []);
  const content = root.getHTML({ shadowRoots });
  if (content.length > most) return null;
  // Copied, because an attribute can have a name that no script could set.
  const copy = root.cloneNode(false);
  const start = copy instanceof HTMLHtmlElement ? copy.outerHTML.slice(0, -'</html>'.length) : '<html>';
  return `<!doctype html>${start}${content}</html>`;
}
