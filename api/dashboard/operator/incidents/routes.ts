import { randomUUID } from 'node:crypto';
import { invalidInput, ServiceError } from '../../../../schemas/errors.ts';
import { UPDATE_LENGTH } from '../../../../schemas/status.ts';
import type { Failure } from '../../components/alert.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { attempt, goTo, sendPage, type Visit } from '../../frame/pageRouter.ts';
import { single } from '../../frame/query.ts';
import { INCIDENTS_PATH, incidentPath, operatorIncidentPage, operatorIncidentsPage } from './view.ts';

export function incidentsRoutes({ operatorPages: pages, core: { registry }, incidents }: Dashboard): void {
  async function page({ ctx, viewer, id }: Visit, more: { draft?: string; failure?: Failure } = {}) {
    const incident = await incidents.find(id);
    if (incident === null) throw new ServiceError('not_found');
    return operatorIncidentPage({
      viewer,
      incident,
      registry,
      reference: randomUUID(),
      draft: '',
      isUpdated: single(ctx, 'done') !== '',
      ...more,
    });
  }

  pages.get(INCIDENTS_PATH, async ({ ctx, viewer }) => {
    sendPage(ctx, operatorIncidentsPage({ viewer, incidents: await incidents.list(), registry }));
  });

  pages.get(`${INCIDENTS_PATH}/:id`, async (visit) => sendPage(visit.ctx, await page(visit)));

  pages.post(`${INCIDENTS_PATH}/:id`, async (visit) => {
    const { ctx, id, form } = visit;
    const text = form.get('text') ?? '';
    const reference = form.get('reference') || randomUUID();
    const apply = async () => {
      if (text.trim() === '' || text.length > UPDATE_LENGTH)
        throw invalidInput([{ pointer: '/text', message: `must have 1 to ${UPDATE_LENGTH} characters` }]);
      if (!(await incidents.update(id, { reference, text }))) throw new ServiceError('not_found');
      goTo(ctx, `${incidentPath(id)}?done=updated`);
    };
    await attempt(ctx, apply, (failure) => page(visit, { draft: text, failure }));
  });
}
