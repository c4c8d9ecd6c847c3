import { isTag } from 'domhandler';
import { MATCH_CODE_POINTS, MATCHES_CHARACTERS, MAX_MATCHES } from '../../schemas/tools/web-scrape.ts';
import type { LoadedPage } from './load.ts';
import { elementText } from './text.ts';

/**
 * Returns the texts of the elements that match a selector, in document order.
 *
 * @param selector a tag name, `.class` or `#id`, validated by the tool's schema
 */
export function findMatches({ $ }: LoadedPage, selector: string): string[] {
  const matches: string[] = [];
  let characters = 0;
  for (const element of $(selector).slice(0, MAX_MATCHES)) {
    if (!isTag(element) || characters > MATCHES_CHARACTERS) break;
    const text = elementText(element, MATCH_CODE_POINTS);
    characters += text.length;
    matches.push(text);
  }
  return matches;
}
