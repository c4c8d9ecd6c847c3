import { ServiceError } from '../../schemas/errors.ts';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import definition, { REMOVED_OVERLAYS } from '../../schemas/tools/website-screenshot.ts';
import { assertPage } from '../browser/failure.ts';
import { intercept } from '../browser/intercept.ts';
import { loadTimeBefore, navigate } from '../browser/navigate.ts';
import { hideOverlays, type RemovedOverlay } from '../browser/overlays.ts';
import { withOwnHeaders } from '../browser/ownHeaders.ts';
import { readParts } from '../browser/pageParts.ts';
import { countRefused } from '../browser/refused.ts';
import { limitWork, type RenderContext, render } from '../browser/render.ts';
import { tryFor } from '../browser/tryFor.ts';
import type { NetworkContext } from '../runtime/context.ts';

export { browsers as resource } from '../browser/resource.ts';

const TITLE_CHARACTERS = 1_000;
/** Lowest status code of an error (RFC 9110, section 15). */
const FIRST_ERROR = 400;
const ANSWER_MS = 3_000;

/** Loads a page in a browser and captures an image of it. */
export async function run(
  input: ToolInput<typeof definition>,
  context: RenderContext & Pick<NetworkContext, 'offload'>,
): Promise<ToolOutput<typeof definition>> {
  const limits = limitWork(context, definition.limits.workMs);
  const { offload } = context;
  const { egress, resource: browsers, loadTime = loadTimeBefore } = limits;
  // Rejects most invalid targets before a browser is needed.
  const target = egress.parseTarget(input.url, { kind: 'url', pointer: '/url' });
  await egress.vet(target, limits);
  // Adds the fragment of the URL, which a target does not contain.
  const address = (target.url?.href ?? input.url).replace(/#.*/s, '') + (URL.parse(input.url)?.hash ?? '');
  const { origin } = new URL(address);
  const loadMs = loadTime(limits);
  let dropped = 0;
  let overlays: RemovedOverlay[] = [];
  return render(limits, {
    options: input,
    async load(renderPage, requests) {
      dropped = 0;
      overlays = [];
      const ads = input.blockAds ? browsers.ads : null;
      const hasOwn = Object.keys(input.headers).length + input.cookies.length > 0;
      if (ads !== null || hasOwn)
        await intercept(renderPage.page, (request) => {
          if (ads?.isAd(request) === true) {
            dropped += 1;
            return false;
          }
          return hasOwn ? { changes: { headers: withOwnHeaders(request, origin, input) } } : true;
        });
      await navigate(renderPage, requests, address, { ...limits, loadMs, loadTime });
    },
    ...(input.hideOverlays && {
      async prepare(renderPage) {
        overlays = (await hideOverlays(renderPage)).slice(0, REMOVED_OVERLAYS);
      },
    }),
    async finish(renderPage, requests) {
      const { page, proxy, world, client } = renderPage;
      await assertPage(renderPage, requests, limits);
      const [tree, title = ''] = await Promise.all([
        tryFor(client.send('Page.getFrameTree'), ANSWER_MS),
        tryFor(
          world.evaluate(() => document.title),
          ANSWER_MS,
        ),
      ]);
      const statusCode = requests.statusOf(tree?.frameTree.frame.loaderId ?? '');
      if (input.failOnStatus && statusCode !== null && statusCode >= FIRST_ERROR)
        throw new ServiceError('target_failed', { detail: `The target answered with status ${statusCode}.` });
      return {
        pageTitle: [...title].slice(0, TITLE_CHARACTERS).join('').toWellFormed(),
        finalUrl: page.url(),
        statusCode,
        blockedRequestCount: dropped + countRefused(proxy.refused, requests),
        overlays,
        ...(await readParts(renderPage, input.also, statusCode, { ...limits, offload })),
      };
    },
  });
}
