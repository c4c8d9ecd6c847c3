import { client } from './client/client.gen.js';
import { getAccount, hashText, qrGenerate } from './client/sdk.gen.js';

const { BASE_URL: baseUrl = '', TOOLS_KEY = '', ACCOUNT_KEY = '' } = process.env;
client.setConfig({ baseUrl, auth: ({ key }) => (key === 'accountKey' ? ACCOUNT_KEY : TOOLS_KEY) });

const hashed = await hashText({ body: { text: 'abc' } });
const image = await qrGenerate({ body: { text: 'abc' } });
const account = await getAccount();
const withKey = (text: string) => hashText({ body: { text }, headers: { 'Idempotency-Key': 'hey-api' } });
const first = await withKey('abc');
const other = await withKey('abcd');
console.log(
  JSON.stringify({
    hash: hashed.data?.hash,
    image: Buffer.from(image.data?.imageBase64 ?? '', 'base64')
      .subarray(0, 4)
      .toString('hex'),
    account: account.data?.id,
    withKey: first.data?.hash,
    code: other.error?.code,
  }),
);
