import { type NewKeyBody, newKeyBody } from '../../../../schemas/accountRows.ts';
import { newKey } from '../../../account/newKey.ts';
import { plainCode } from '../../../auth/deviceLogin.ts';
import { DEVICE_PATH } from '../../../auth/devicePlugin.ts';
import { createValidator } from '../../../http/validator.ts';
import { draftOfForm, fieldsOf, suggestedDraft } from '../../components/keyFields.ts';
import { failureOf } from '../../frame/authRefusal.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { attempt, sendPage } from '../../frame/pageRouter.ts';
import { single } from '../../frame/query.ts';
import { codePage, devicePage, doneDevicePage } from './view.ts';

const UNKNOWN = 'This code is wrong, was used already or has expired. Run the command again for a new code.';

/** Registers the page on which an owner approves a sign-in of the command line. */
export function deviceRoutes({ pages, core: { registry }, deviceLogin }: Dashboard): void {
  const validate = createValidator()<NewKeyBody>(newKeyBody);
  const toolNames = [...registry.keys()];

  pages.get(
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

  pages.post(DEVICE_PATH, async ({ ctx, viewer, form }) => {
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
