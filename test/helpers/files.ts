import type { FileRow } from '../../schemas/files.ts';
import type { TestAccount } from './account.ts';

/** The requests of an account about its files, with its key of scope `tools`. */
export function filesOf({ toolsKey }: Pick<TestAccount, 'toolsKey'>, baseUrl: string) {
  const request = (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set('Authorization', `Bearer ${toolsKey}`);
    return fetch(`${baseUrl}/api/v1/files${path}`, { ...init, headers });
  };
  const post = (body: BodyInit, headers: Record<string, string> = {}): Promise<Response> =>
    request('', { method: 'POST', body, headers });
  return {
    post,
    get: (id: string): Promise<Response> => request(`/${id}`),
    /** @param query such as `?limit=2` */
    list: (query = ''): Promise<Response> => request(query),
    delete: (id: string): Promise<Response> => request(`/${id}`, { method: 'DELETE' }),
    /** Uploads a file. @throws if it is not accepted */
    async create(bytes: Buffer, name?: string): Promise<FileRow> {
      const form = new FormData();
      form.append('file', new Blob([new Uint8Array(bytes)]), name ?? 'file');
      const response = await post(name === undefined ? new Uint8Array(bytes) : form);
      if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
      return response.json();
    },
  };
}
