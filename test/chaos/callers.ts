import { setTimeout as sleep } from 'node:timers/promises';
import type { TestAccount } from '../helpers/account.ts';

/** Callers with a key try again for so long. */
const PATIENCE_MS = 90_000;
const PAUSE_MS = 250;
/** No call takes longer; a connection that says nothing for more is dead. */
const CALL_MS = 110_000;

/** One call; null when the connection broke. */
export async function callOnce(
  account: Pick<TestAccount, 'call'>,
  text: string,
  idempotencyKey: string | null,
): Promise<Response | null> {
  const headers = idempotencyKey === null ? {} : { 'Idempotency-Key': idempotencyKey };
  try {
    return await account.call('hash-text', { text }, headers);
  } catch {
    return null; // the API was killed, or is not there yet
  }
}

/**
 * As a careful client does it: the same key until there is a result.
 *
 * @returns the body; null when patience ran out
 * @throws what is neither a result nor a fault of the service
 */
export async function insist(
  account: Pick<TestAccount, 'call'>,
  text: string,
  idempotencyKey: string,
): Promise<string | null> {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(PAUSE_MS)) {
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
