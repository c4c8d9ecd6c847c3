import { type NewKeyBody, newKeyBody } from '../../../schemas/accountRows.ts';
import type { Registry } from '../../../schemas/registry.ts';
import { newKey } from '../../account/newKey.ts';
import { type DeviceLogin, plainCode } from '../../auth/deviceLogin.ts';
import { DEVICE_PATH } from '../../auth/devicePlugin.ts';
import { createValidator } from '../../http/validator.ts';
import { failureOf } from '../authRefusal.ts';
import { draftOfForm, fieldsOf, suggestedDraft } from '../components/keyFields.ts';
import { attempt, type PageRouter, sendPage } from '../pageRouter.ts';
import { codePage, devicePage, doneDevicePage } from '../pages/devicePage.ts';
import { single } from '../query.ts';

interface Dependencies {
  deviceLogin: Pick<DeviceLogin, 'claim' | 'approve' | 'deny'>;
  registry: Registry;
}

const UNKNOWN = 'This code is wrong, was used already or has expired. Run the command again for a new code.';

/** Registers the page on which an owner approves a sign-in of the command line. */
export function devicePages(pageRouter: PageRouter, { deviceLogin, registry }: Dependencies): void {
  const validate = createValidator()<NewKeyBody>(newKeyBody);
  const toolNames = [...registry.keys()];

  pageRouter.get(
    DEVICE_PATH,
    async ({ ctx, viewer }) => {
      const code = plainCode(single(ctx, 'user_code'));
      if (code === '') return sendPage(ctx, codePage({ viewer, failure: null }));
      if (!(await deviceLogin.claim(ctx, code)))
        return sendPage(ctx, codePage({ viewer, failure: failureOf(UNKNOWN) }), 400);
      const draft = { ...suggestedDraft(new Date()), name: 'Command line' };
      sendPage(ctx, devicePage({ viewer, code, draft, toolNames }));
    },
    { returnsAfterSignIn: true },
  );

  pageRouter.post(DEVICE_PATH, async ({ ctx, viewer, form }) => {
    const code = plainCode(form.get('userCode') ?? '');
    if (!(await deviceLogin.claim(ctx, code)))
      return sendPage(ctx, codePage({ viewer, failure: failureOf(UNKNOWN) }), 400);
    if (form.get('decision') !== 'approve') {
      await deviceLogin.deny(ctx, code);
      return sendPage(ctx, doneDevicePage({ viewer, isApproved: false }));
    }
    const draft = draftOfForm(form);
    const approve = async () => {
      const body = validate({ ...fieldsOf(draft), scopes: ['tools'] });
      await deviceLogin.approve(ctx, code, newKey(viewer.account._id, body, registry));
      sendPage(ctx, doneDevicePage({ viewer, isApproved: true }));
    };
    await attempt(ctx, approve, (failure) => devicePage({ viewer, code, draft, toolNames, failure }));
  });
}
