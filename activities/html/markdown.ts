import { gfm } from '@joplin/turndown-plugin-gfm';
import Turndown from 'turndown';

/** Converts HTML to GitHub Flavored Markdown. Images keep their alternative text. */
export function toMarkdown(html: string): string {
  const service = new Turndown({
    headingStyle: 'atx',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
    emDelimiter: '*',
  });
  service.use(gfm);
  service.remove(['script', 'style', 'noscript']);
  return service.turndown(html);
}
