import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import definition from '../../schemas/tools/html-to-image.ts';
import { intercept } from '../browser/intercept.ts';
import type { Browsers } from '../browser/pool.ts';
import { render } from '../browser/render.ts';
import { within } from '../browser/within.ts';
import type { NetworkContext } from '../context.ts';

export { browsers as resource } from '../browser/resource.ts';

const LOAD_MS = 30_000;
/** Of what the markup may name. A `blob:` holds what its own scripts have made. */
const SUBRESOURCES = ['https:', 'data:', 'blob:'];
const DOCUMENT = /^\s*(?:<!--[\s\S]*?-->\s*)*<(?:!doctype|html|head|body)\b/i;

/** A document: what it is, or the fragment in the body of one. */
export const wrapFragment = (html: string): string =>
  DOCUMENT.test(html)
    ? html
    : `<!doctype html><html><head><meta charset="utf-8"></head><body>${html}</body></html>`;

/** Draws the markup. */
export async function run(
  input: ToolInput<typeof definition>,
  {
    resource: browsers,
    egress,
    signal,
    deadline: attempt,
  }: Pick<NetworkContext, 'egress' | 'signal' | 'deadline'> & { resource: Browsers },
): Promise<ToolOutput<typeof definition>> {
  const deadline = Math.min(attempt, Date.now() + definition.limits.workMs);
  const { file, width, height, truncated } = await render(
    browsers,
    { egress, signal, deadline },
    {
      shot: input,
      async load({ page }) {
        await intercept(page, (request) => {
          const leaves = request.isNavigationRequest() && request.frame() === page.mainFrame();
          return !leaves && SUBRESOURCES.includes(URL.parse(request.url())?.protocol ?? '');
        });
        // What has not loaded by then is left out.
        await within(page.setContent(wrapFragment(input.html), { timeout: LOAD_MS }), LOAD_MS);
      },
      finish: async () => null,
    },
  );
  const mimeType = input.format === 'jpeg' ? 'image/jpeg' : 'image/png';
  return { fileBase64: file.toString('base64'), mimeType, width, height, truncated };
}
