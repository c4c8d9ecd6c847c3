import type { Dashboard } from './dashboard.ts';
import { dismiss, senderOf } from './dismissal.ts';
import { goTo, HOME, type Submission } from './pageRouter.ts';

/** Registers the form with which users hide the operator's notice. */
export function dismissalRoutes({ pages }: Dashboard): void {
  const hide = async ({ ctx, viewer, form }: Submission) => {
    const { broadcast } = viewer;
    if (broadcast !== null && broadcast.id === form.get('id')) dismiss(ctx, broadcast);
    goTo(ctx, senderOf(ctx));
  };
  pages.post('/dashboard/notice/dismiss', hide, { page: () => HOME });
}
