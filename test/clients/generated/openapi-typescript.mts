import createClient from 'openapi-fetch';
import type { paths } from './client.d.ts';

const { BASE_URL: baseUrl = '', TOOLS_KEY = '', ACCOUNT_KEY = '' } = process.env;
const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
const tools = createClient<paths>({ baseUrl, headers: bearer(TOOLS_KEY) });
const owner = createClient<paths>({ baseUrl, headers: bearer(ACCOUNT_KEY) });

const hashed = await tools.POST('/api/v1/tools/hash-text', { body: { text: 'abc' } });
const image = await tools.POST('/api/v1/tools/qr-generate', {
  body: { text: 'abc' },
  headers: { Accept: 'image/png' },
  parseAs: 'arrayBuffer',
});
const account = await owner.GET('/api/v1/account');
const withKey = (text: string) =>
  tools.POST('/api/v1/tools/hash-text', {
    body: { text },
    params: { header: { 'Idempotency-Key': 'openapi-typescript' } },
  });
const first = await withKey('abc');
const other = await withKey('abcd');
const bytes: unknown = image.data;
console.log(
  JSON.stringify({
    hash: hashed.data?.hash,
    image: bytes instanceof ArrayBuffer ? Buffer.from(bytes).subarray(0, 4).toString('hex') : null,
    account: account.data?.id,
    withKey: first.data?.hash,
    code: other.error?.code,
  }),
);
