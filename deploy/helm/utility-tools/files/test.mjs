// Run by `helm test` in the image of the API: waits until the API is ready, then makes one call.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const { API_URL, INTERNAL_URL, API_KEY_FILE, TEST_EMAIL } = process.env;
const READY_MS = 120_000;
const REQUEST_MS = 90_000;

/** Runs an operator command. */
const admin = (...args) =>
  JSON.parse(execFileSync('node', ['api/cli/admin.ts', ...args, '--json'], { encoding: 'utf8' }));

/** Returns the account of the tests, with enough credits for a thousand runs. */
function testAccount() {
  const [account] = admin('accounts', 'list', '--email', TEST_EMAIL).items;
  return account?.id ?? admin('create-account', '--email', TEST_EMAIL, '--credits', '1000').accountId;
}

async function untilReady() {
  for (const end = Date.now() + READY_MS; ; await sleep(1000)) {
    const problem = await fetch(`${INTERNAL_URL}/readyz`, { signal: AbortSignal.timeout(5000) }).then(
      async (response) => (response.ok ? null : response.text()),
      (error) => `${error.message}: ${error.cause?.message}`,
    );
    if (problem === null) return;
    if (Date.now() > end) throw new Error(`the API is not ready: ${problem}`);
  }
}

async function call(key) {
  const response = await fetch(`${API_URL}/api/v1/tools/hash-text`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ text: 'abc' }),
    signal: AbortSignal.timeout(REQUEST_MS),
  });
  const text = await response.text();
  // FIPS 180-4, example of SHA-256.
  const expected = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
  if (!response.ok || !text.includes(expected))
    throw new Error(`the call failed: ${response.status} ${text}`);
}

await untilReady();
if (API_KEY_FILE) await call(readFileSync(API_KEY_FILE, 'utf8').trim());
else {
  const account = testAccount();
  const { id, key } = admin('keys', 'create', '--account', account, '--name', 'helm test');
  try {
    await call(key);
  } finally {
    admin('keys', 'revoke', '--account', account, '--key', id);
  }
}
console.log('The API is ready and answered a call.');
