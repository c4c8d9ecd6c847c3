import type { JobRow } from '../../schemas/jobs.ts';
import type { TestAccount } from './account.ts';
import { until } from './until.ts';

/** The requests of an account about its jobs, with its key of scope `tools`. */
export function jobsOf({ toolsKey }: Pick<TestAccount, 'toolsKey'>, baseUrl: string) {
  const request = (path: string, init: RequestInit = {}, key = toolsKey): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set('Authorization', `Bearer ${key}`);
    if (init.body !== undefined) headers.set('Content-Type', 'application/json');
    return fetch(`${baseUrl}/api/v1/jobs${path}`, { ...init, headers });
  };
  const post = (body: object, headers: Record<string, string> = {}): Promise<Response> =>
    request('', { method: 'POST', body: JSON.stringify(body), headers });
  const get = async (id: string): Promise<JobRow> => (await request(`/${id}`)).json();
  return {
    request,
    post,
    get,
    /** Creates a job. @throws if it is not accepted */
    async create(body: object, headers: Record<string, string> = {}): Promise<JobRow> {
      const response = await post(body, headers);
      if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`);
      return response.json();
    },
    cancel: (id: string): Promise<Response> => request(`/${id}`, { method: 'DELETE' }),
    result: (id: string, headers: Record<string, string> = {}): Promise<Response> =>
      request(`/${id}/result`, { headers }),
    /** Waits until the job has ended. */
    ended: (id: string): Promise<JobRow> =>
      until(`job ${id} has ended`, async () => {
        const row = await get(id);
        return row.endedAt !== null && row;
      }),
  };
}
