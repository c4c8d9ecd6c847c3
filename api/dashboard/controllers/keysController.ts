import { randomUUID } from 'node:crypto';
import type { NewKeyBody } from '../../../schemas/accountRows.ts';
import { newKeyBody } from '../../../schemas/accountRows.ts';
import type { Registry } from '../../../schemas/registry.ts';
import { isDuplicate } from '../../../store/mongo.ts';
import type { Keys } from '../../account/keyService.ts';
import { createValidator } from '../../http/validator.ts';
import { referenceOf } from '../formReference.ts';
import { attempt, goTo, type PageRouter, type Submission, sendPage, type Visit } from '../pageRouter.ts';
import { KEYS_PATH, type KeyDraft, keysPage, NO_DRAFT } from '../pages/keysPage.ts';
import { pageOf, single } from '../query.ts';

interface Dependencies {
  keys: Keys;
  registry: Registry;
}

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

export function keyPages(pageRouter: PageRouter, { keys, registry }: Dependencies): void {
  const validate = createValidator()<NewKeyBody>(newKeyBody);
  const toolNames = [...registry.keys()];

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
        const made = await keys.create(viewer.account._id, validate(asBody(draft)), id);
        sendPage(ctx, await page(visit, { made }), 201);
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
}
