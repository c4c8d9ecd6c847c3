import { setTimeout as sleep } from 'node:timers/promises';
import type { TestAccount } from '../helpers/account.ts';

/** Milliseconds for which `callUntilResult` retries a call. */
const RETRY_MS = 90_000;
const PAUSE_MS = 250;
/**
 * Timeout in milliseconds of one call, longer than any call takes; a connection without a response until then counts as
 * broken.
 */
const CALL_MS = 110_000;

/** Makes one call of hash-text. Returns null when the connection broke. */
export async function callOnce(
  account: Pick<TestAccount, 'call'>,
  text: string,
  idempotencyKey: string | null,
): Promise<Response | null> {
  const headers = idempotencyKey === null ? {} : { 'Idempotency-Key': idempotencyKey };
  try {
    return await account.call('hash-text', { text }, headers);
  } catch {
    return null; // the API process has been killed and has not restarted yet
  }
}

/**
 * Retries a call with the same Idempotency-Key until it succeeds, as a robust client does.
 *
 * @returns the response body; null when the call did not succeed within 90 s
 * @throws on a 4xx response
 */
export async function callUntilResult(
  account: Pick<TestAccount, 'call'>,
  text: string,
  idempotencyKey: string,
): Promise<string | null> {
  for (const end = Date.now() + RETRY_MS; Date.now() < end; await sleep(PAUSE_MS)) {
    const response = await Promise.race([
      callOnce(account, text, idempotencyKey),
      sleep(CALL_MS, null, { ref: false }),
    ]);
    if (response?.status === 200) return response.text();
    if (response !== null && response.status < 500)
      throw new Error(`${idempotencyKey}: ${response.status} ${await response.text()}`);
  }
  return null;
}
