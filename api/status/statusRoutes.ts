import type Router from '@koa/router';
import type { Registry } from '../../schemas/registry.ts';
import type { Context, State } from '../http/context.ts';
import { createDocument, type Document, sendDocument } from '../http/document.ts';
import { ATOM } from '../site/atom.ts';
import { SITE_HEADERS } from '../site/siteRoutes.ts';
import { describe } from './components.ts';
import { type Status, uptimeOf } from './status.ts';
import { headline, STATUS_FEED, STATUS_PATH, statusFeed, statusPage } from './statusPage.ts';

/** How long a rendered page is served, and may be cached, in seconds. */
const CACHE_SECONDS = 5;

interface Dependencies {
  registry: Registry;
  /** URL of the API; known when the first request arrives. */
  baseUrl(): string;
  readStatus(): Promise<Status>;
}

const WORDS = { good: 'ok', bad: 'failed', unknown: 'unknown' } as const;

/** The status for programs. */
const statusJson = (status: Status, registry: Registry): string =>
  JSON.stringify({
    status: WORDS[headline(status).tone],
    checkedAt: status.checkedAt,
    historyCurrent: status.isHistoryCurrent,
    components: status.components.map(({ component, state, days }) => ({
      id: component,
      name: describe(component, registry).name,
      state,
      uptimePercent: uptimeOf(days),
      days,
    })),
    incidents: status.incidents.map(({ _id, component, startedAt, endedAt, updates }) => ({
      id: _id,
      component,
      startedAt,
      endedAt,
      updates: updates.map(({ at, text }) => ({ at, text })),
    })),
  });

/** The status in all its formats. */
type Documents = Record<'page' | 'json' | 'feed', Document>;

/** Registers the public status page. Requests within seconds share one reading of the status. */
export function statusRoutes(router: Router<State>, { registry, baseUrl, readStatus }: Dependencies): void {
  let read: { at: number; documents: Promise<Documents> } | null = null;

  async function render(): Promise<Documents> {
    const status = await readStatus();
    return {
      feed: createDocument(ATOM, statusFeed(status, registry, baseUrl().replace(/\/$/, ''))),
      page: createDocument('text/html; charset=utf-8', statusPage(status, registry, baseUrl())),
      json: createDocument('application/json', statusJson(status, registry)),
    };
  }

  const send = async (ctx: Context, kind: keyof Documents) => {
    const now = performance.now();
    if (read === null || now - read.at > CACHE_SECONDS * 1000) read = { at: now, documents: render() };
    ctx.set(SITE_HEADERS);
    await sendDocument(ctx, (await read.documents)[kind]);
    ctx.set('Cache-Control', `public, max-age=${CACHE_SECONDS}`);
  };
  router.get(STATUS_PATH, (ctx: Context) => send(ctx, 'page'));
  router.get(`${STATUS_PATH}.json`, (ctx: Context) => send(ctx, 'json'));
  router.get(STATUS_FEED, (ctx: Context) => send(ctx, 'feed'));
}
