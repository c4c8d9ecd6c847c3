import { randomUUID } from 'node:crypto';
import type { NewKeyBody } from '../../../schemas/accountRows.ts';
import { newKeyBody } from '../../../schemas/accountRows.ts';
import type { Env } from '../../../schemas/env.ts';
import type { Registry } from '../../../schemas/registry.ts';
import type { ToolDefinition } from '../../../schemas/tool.ts';
import type { Lists } from '../../../store/lists.ts';
import { isDuplicate } from '../../../store/mongo.ts';
import type { Keys } from '../../account/keyService.ts';
import type { Context } from '../../http/context.ts';
import { ownOrigin } from '../../http/origin.ts';
import { createValidator } from '../../http/validator.ts';
import { referenceOf } from '../formReference.ts';
import { attempt, goTo, type PageRouter, type Submission, sendPage, type Visit } from '../pageRouter.ts';
import { callPath } from '../pages/callPage.ts';
import { KEYS_PATH, type KeyDraft, keysPage, type MadeKey, NO_DRAFT } from '../pages/keysPage.ts';
import { pageOf, single } from '../query.ts';

interface Dependencies {
  keys: Keys;
  lists: Pick<Lists, 'calls'>;
  registry: Registry;
  env: Pick<Env, 'PUBLIC_URL'>;
}

/** Example for a first call: cheap, fast, and independent of other servers. */
const FIRST_TOOL = 'hash-text';

const draftOf = (form: URLSearchParams): KeyDraft => ({
  name: form.get('name') ?? '',
  scope: form.get('scope') ?? '',
  tools: form.getAll('tools'),
  expires: form.get('expiresAt') ?? '',
});

/** Converts the form to the body of the Account API, whose schema validates it. */
const asBody = ({ name, scope, tools, expires }: KeyDraft): Record<string, unknown> => ({
  name,
  scopes: scope === '' ? [] : [scope],
  tools: tools.length === 0 ? null : tools,
  expiresAt: expires === '' ? null : `${expires}T23:59:59Z`,
});

export function keyPages(pageRouter: PageRouter, { keys, lists, registry, env }: Dependencies): void {
  const validate = createValidator()<NewKeyBody>(newKeyBody);
  const toolNames = [...registry.keys()];

  /** A tool that the key may call. */
  function exampleFor({ scopes, tools }: MadeKey['row'], ctx: Context): MadeKey['example'] {
    if (!scopes.includes('tools')) return null;
    const names = tools === null || tools.includes(FIRST_TOOL) ? [FIRST_TOOL, ...toolNames] : tools;
    const tool: ToolDefinition | undefined = names.flatMap((name) => registry.get(name) ?? [])[0];
    return tool === undefined ? null : { tool, baseUrl: env.PUBLIC_URL ?? ownOrigin(ctx) ?? '' };
  }

  async function page({ ctx, viewer }: Visit, more: Partial<Parameters<typeof keysPage>[0]> = {}) {
    const request = pageOf(ctx);
    const rows = await keys.list(viewer.account._id, request);
    const { cursor } = request;
    const reference = randomUUID();
    return keysPage({ viewer, keys: rows, cursor, toolNames, draft: NO_DRAFT, reference, ...more });
  }

  pageRouter.get(KEYS_PATH, async (visit) =>
    sendPage(visit.ctx, await page(visit, { again: single(visit.ctx, 'done') === 'again' })),
  );

  pageRouter.post(KEYS_PATH, async (visit) => {
    const { ctx, viewer, form } = visit;
    const draft = draftOf(form);
    const id = `key_${referenceOf(form) ?? randomUUID()}`;
    const create = async () => {
      try {
        const row = await keys.create(viewer.account._id, validate(asBody(draft)), id);
        sendPage(ctx, await page(visit, { made: { row, example: exampleFor(row, ctx) } }), 201);
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        goTo(ctx, `${KEYS_PATH}?done=again`);
      }
    };
    await attempt(ctx, create, (failure) => page(visit, { draft, failure }));
  });

  const revoke = async ({ ctx, viewer, id }: Submission) => {
    await keys.revoke(viewer.account._id, id);
    goTo(ctx, KEYS_PATH);
  };
  pageRouter.post(`${KEYS_PATH}/:id/revoke`, revoke, { page: () => KEYS_PATH });

  // For `firstCall.js`: the newest call with the key.
  pageRouter.get(`${KEYS_PATH}/:id/first-call`, async ({ ctx, viewer, id }) => {
    const { items } = await lists.calls(viewer.account._id, { keyId: id }, { limit: 1 });
    ctx.body = { call: items.map(({ _id, state }) => ({ path: callPath(_id), state }))[0] ?? null };
  });
}
