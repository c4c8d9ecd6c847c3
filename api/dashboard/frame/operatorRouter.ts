import { ServiceError } from '../../../schemas/errors.ts';
import { goTo, type PageRouter, type Visit } from './pageRouter.ts';

/** Hides the page from owners. @throws ServiceError not_found */
function requireOperator({ viewer }: Visit): void {
  if (viewer.user.role !== 'operator') throw new ServiceError('not_found');
}

/** Registers pages and forms that only operators can use; for owners they do not exist. */
export const operatorRouter = (pageRouter: PageRouter): Pick<PageRouter, 'get' | 'post'> => ({
  get: (path, handler) =>
    pageRouter.get(path, async (visit) => {
      requireOperator(visit);
      await handler(visit);
    }),

  post(path, handler, { page, ...options } = {}) {
    pageRouter.post(
      path,
      async (submission) => {
        requireOperator(submission);
        await handler(submission);
      },
      options,
    );
    if (page === undefined) return;
    pageRouter.get(path, async (visit) => {
      requireOperator(visit);
      goTo(visit.ctx, page(visit.id) + visit.ctx.search);
    });
  },
});
