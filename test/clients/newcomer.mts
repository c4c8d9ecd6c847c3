// A first program of a new user, compiled and run in a folder that contains only the packed client.
import {
  type HashTextInput,
  isApiError,
  type ToolFile,
  UtilityTools,
  UtilityToolsAccount,
  verifyWebhook,
} from 'utility-tools-client';
import { saveFile } from 'utility-tools-client/node';

declare const process: { env: Record<string, string | undefined> };
const {
  UTILITY_TOOLS_URL: baseUrl,
  UTILITY_TOOLS_ACCOUNT_KEY: ACCOUNT_KEY = '',
  POOR_KEY = '',
} = process.env;
const delivery: { secret: string; body: string; headers: Record<string, string> } = JSON.parse(
  process.env.DELIVERY ?? '',
);

const at = (apiKey: string) => new UtilityTools({ apiKey, baseUrl });
// Reads key and URL from the environment.
const client = new UtilityTools();
const failure = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => null,
    (error: unknown) => error,
  );
const codeOf = async (call: Promise<unknown>): Promise<string> => {
  const error = await failure(call);
  return isApiError(error) ? error.code : String(error);
};

const input: HashTextInput = { text: 'abc' };
const { output, credits, idempotencyKey } = await client.hashText(input);
const again = await client.hashText(input, { idempotencyKey });
const qr = await client.qrGenerate({ text: 'abc' });
await saveFile(qr, 'qr.png');
// @ts-expect-error: `text` is required.
const invalid = await failure(client.hashText({ algorithm: 'md5' }));
// @ts-expect-error: there is no such algorithm.
const unknown: NonNullable<HashTextInput['algorithm']> = 'md6';
const unpaid = await failure(at(POOR_KEY).hashText({ text: unknown }));

const account = new UtilityToolsAccount();
let [keys, calls] = [0, 0];
const { id } = await account.createKey({ name: 'temporary', scopes: ['tools'] });
await account.revokeKey(id);
for await (const key of account.listKeys({ limit: 1 })) if (key.revokedAt === null) keys += 1;
const refused = await codeOf(client.ping({ host: '10.0.0.1' }));
for await (const call of account.listCalls({ limit: 1 })) if (call.tool !== '') calls += 1;
const event = await verifyWebhook(delivery);
const forged = await failure(verifyWebhook({ ...delivery, body: `${delivery.body} ` }));

// @ts-expect-error: there is no such tool.
const noTool = await codeOf(client.jobs.create('hash-txt', input));
const batch = await client.batches.create('hash-text', [{ text: 'abc' }, { text: 'def' }, { text: 'ghi' }], {
  maxCredits: 1,
});
// @ts-expect-error: the inputs are those of the tool.
const wrongRow = await codeOf(client.batches.create('hash-text', [{ txt: 'abc' }]));
const { pauseReason } = await client.batches.wait(batch.id);
await client.batches.resume(batch.id, { maxCredits: 3 });
const { state } = await client.batches.wait(batch.id);
const rows: number[] = [];
for await (const { row } of client.batches.results(batch.id)) rows.push(row);
const later: number[] = [];
for await (const { row } of client.batches.results(batch.id, { after: 1 })) later.push(row);
const file = new Blob(['{"id": "a", "tool": "hash-text", "input": {"text": "abc"}}\n']);
const other = await client.batches.createFromFile(file, 'application/x-ndjson');
await client.batches.wait(other.id);
const ids: (string | null)[] = [];
for await (const row of client.batches.results(other.id, { order: 'completion' })) ids.push(row.id);
const batchOutcome = [
  pauseReason,
  state,
  rows,
  later,
  ids[0],
  (await client.batches.manifest(other.id)).credits,
];

const headOf = (file: ToolFile | null): string =>
  [...(file?.bytes().subarray(0, 4) ?? [])].map((byte) => byte.toString(16)).join('');

console.log(
  JSON.stringify({
    hash: output.hash,
    ...credits,
    file: headOf(qr.file),
    invalid: isApiError(invalid, 'invalid_input')
      ? [invalid.code, invalid.faults[0]?.pointer]
      : String(invalid),
    maximum: await codeOf(client.hashText(input, { maxCredits: 0 })),
    poor: isApiError(unpaid, 'insufficient_credits')
      ? [unpaid.code, unpaid.available, unpaid.cost]
      : String(unpaid),
    unknownKey: await codeOf(at('ut_unknown').hashText(input)),
    wrongScope: await codeOf(at(ACCOUNT_KEY).hashText(input)),
    refused,
    repeated: [again.replayed, again.credits.charged],
    keys,
    calls,
    statement: (await account.statement()).split('\r\n')[0],
    job: headOf((await client.jobs.wait(await client.jobs.create('qr-generate', { text: 'abc' }))).file),
    batch: batchOutcome,
    wrongRow,
    event: event.event,
    noTool,
    forged: forged instanceof Error ? forged.name : '',
  }),
);
