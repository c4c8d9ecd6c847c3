import type { ScheduleRow, ScheduleRunRow } from '../../schemas/schedules.ts';
import type { TestAccount } from './account.ts';
import { until } from './until.ts';

/** The requests of an account about its schedules, with its key of scope `tools`. */
export function schedulesOf({ toolsKey }: Pick<TestAccount, 'toolsKey'>, baseUrl: string) {
  const request = (path: string, init: RequestInit = {}, key = toolsKey): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set('Authorization', `Bearer ${key}`);
    if (init.body !== undefined) headers.set('Content-Type', 'application/json');
    return fetch(`${baseUrl}/api/v1/schedules${path}`, { ...init, headers });
  };
  const send = (
    method: string,
    path: string,
    body: object,
    headers: Record<string, string> = {},
  ): Promise<Response> => request(path, { method, body: JSON.stringify(body), headers });
  const accepted = async <T>(response: Response): Promise<T> => {
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return response.json();
  };
  const runs = async (id: string): Promise<ScheduleRunRow[]> => {
    const all: ScheduleRunRow[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const page: { items: ScheduleRunRow[]; nextCursor: string | null } = await accepted(
        await request(`/${id}/runs?limit=100${query}`),
      );
      all.push(...page.items);
      cursor = page.nextCursor;
    }
    return all;
  };
  return {
    request,
    post: (body: object, headers: Record<string, string> = {}) => send('POST', '', body, headers),
    /** Creates a schedule. @throws if it is not accepted */
    create: async (body: object): Promise<ScheduleRow> => accepted(await send('POST', '', body)),
    get: async (id: string): Promise<ScheduleRow> => accepted(await request(`/${id}`)),
    change: async (id: string, body: object): Promise<ScheduleRow> =>
      accepted(await send('PATCH', `/${id}`, body)),
    remove: (id: string): Promise<Response> => request(`/${id}`, { method: 'DELETE' }),
    trigger: async (id: string, headers: Record<string, string> = {}): Promise<ScheduleRunRow> =>
      accepted(await request(`/${id}/trigger`, { method: 'POST', headers })),
    backfill: async (id: string, from: Date, to: Date): Promise<{ times: number; added: number }> =>
      accepted(await send('POST', `/${id}/backfill`, { from, to })),
    /** Returns all runs, the latest first. */
    runs,
    /** Waits until this many runs have ended, and returns them, the earliest first. */
    ended: (id: string, count: number): Promise<ScheduleRunRow[]> =>
      until(`${count} runs of ${id} have ended`, async () => {
        const ended = (await runs(id)).filter(({ endedAt }) => endedAt !== null);
        return ended.length >= count && ended.reverse();
      }),
  };
}
