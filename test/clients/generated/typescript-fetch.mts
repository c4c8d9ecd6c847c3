import {
  AccountApi,
  Configuration,
  InvalidRequestProblemFromJSON,
  ResponseError,
  ToolsApi,
} from './client/index.js';

const { BASE_URL: basePath = '', TOOLS_KEY = '', ACCOUNT_KEY = '' } = process.env;
const tools = new ToolsApi(new Configuration({ basePath, accessToken: TOOLS_KEY }));
const owner = new AccountApi(new Configuration({ basePath, accessToken: ACCOUNT_KEY }));

const hashed = await tools.hashText({ hashTextInput: { text: 'abc' } });
const image = await tools.qrGenerate({ qrGenerateInput: { text: 'abc' } });
const account = await owner.getAccount();
const withKey = (text: string) =>
  tools.hashText({ hashTextInput: { text }, idempotencyKey: 'typescript-fetch' });
const first = await withKey('abc');
const other = await withKey('abcd').catch(async (error: unknown) => {
  if (!(error instanceof ResponseError)) throw error;
  return InvalidRequestProblemFromJSON(await error.response.json());
});
console.log(
  JSON.stringify({
    hash: hashed.hash,
    image: Buffer.from(image.imageBase64 ?? '', 'base64')
      .subarray(0, 4)
      .toString('hex'),
    account: account.id,
    withKey: first.hash,
    code: 'code' in other ? other.code : null,
  }),
);
