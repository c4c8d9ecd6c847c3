import { invalidInput } from '../../schemas/errors.ts';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import definition from '../../schemas/tools/html-to-image.ts';
import { isMarkup, loadMarkup } from '../browser/markup.ts';
import { loadTimeBefore } from '../browser/navigate.ts';
import { limitWork, type RenderContext, render } from '../browser/render.ts';

export { browsers as resource } from '../browser/resource.ts';

const COMMENT = /\s*<!--[\s\S]*?-->/y;
const BEGINNING = /\s*<(?:!doctype|html|head|body)\b/iy;

/** Whether markup is a whole document. Skips comments one by one, because one pattern would backtrack exponentially. */
function isDocument(html: string): boolean {
  let at = 0;
  for (COMMENT.lastIndex = 0; COMMENT.test(html); ) at = COMMENT.lastIndex;
  BEGINNING.lastIndex = at;
  return BEGINNING.test(html);
}

/** Wraps a fragment in a document; returns a document unchanged. */
const wrapFragment = (html: string): string =>
  isDocument(html)
    ? html
    : `<!doctype html><html><head><meta charset="utf-8"></head><body>${html}</body></html>`;

/** Renders markup to an image. */
export async function run(
  input: ToolInput<typeof definition>,
  context: RenderContext,
): Promise<ToolOutput<typeof definition>> {
  const limits = limitWork(context, definition.limits.workMs);
  const { loadTime = loadTimeBefore } = limits;
  return render(limits, {
    options: input,
    load: ({ page }, requests) => loadMarkup(page, requests, wrapFragment(input.html), loadTime(limits)),
    async finish({ page }) {
      if (!isMarkup(page))
        throw invalidInput([{ pointer: '/html', message: 'navigates away from its own page' }]);
      return {};
    },
  });
}
