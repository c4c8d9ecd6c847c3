import { createHmac, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { UtilityToolsAccount } from '../account.ts';
import { ConnectionError } from '../errors.ts';
import type { AccountEvent } from '../generated/types.ts';
import { openAccount } from './accountCommands.ts';
import { UsageError } from './exit.ts';
import { type Subcommand, textOf } from './subcommand.ts';

const POLL_MS = 1000;
/** Timeout of one request to the program; the same as for webhook deliveries. */
const RESPONSE_MS = 10_000;
/**
 * How far each poll reaches back before the newest known event: events are sorted by the time at which they occurred, but can
 * become visible later.
 */
const OVERLAP_MS = 60_000;
const PAGE_ROWS = 100;
const PREFIX = 'whsec_';

const newSecret = (): string => `${PREFIX}${randomBytes(32).toString('base64')}`;
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text);

/** The headers of a delivery, with both signatures of webhooks. */
function headersOf({ id, event }: AccountEvent, body: string, secret: string): Record<string, string> {
  const time = String(Math.floor(Date.now() / 1000));
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  return {
    'Content-Type': 'application/json',
    'X-Service-Event': event,
    'X-Service-Timestamp': time,
    'X-Service-Signature': `sha256=${hmac(secret, `${time}.${body}`).digest('hex')}`,
    'webhook-id': id,
    'webhook-timestamp': time,
    'webhook-signature': `v1,${hmac(key, `${id}.${time}.${body}`).digest('base64')}`,
  };
}

/** Posts an event in the form of a webhook delivery. @returns the status, or why there is none */
async function forward(event: AccountEvent, to: string, secret: string, stop: AbortSignal): Promise<string> {
  const { id, event: kind, createdAt, data } = event;
  const body = JSON.stringify({ id, event: kind, createdAt: createdAt.replace('Z', '+00:00'), data });
  try {
    const response = await fetch(to, {
      method: 'POST',
      headers: headersOf(event, body, secret),
      body,
      redirect: 'manual',
      signal: AbortSignal.any([stop, AbortSignal.timeout(RESPONSE_MS)]),
    });
    await response.body?.cancel();
    return String(response.status);
  } catch (error) {
    stop.throwIfAborted();
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    return cause instanceof Error ? cause.message : 'failed';
  }
}

/** Creates a function that returns the events since its last call, oldest first; the first call returns none. */
function createFeed(account: UtilityToolsAccount, signal: AbortSignal): () => Promise<AccountEvent[]> {
  let seen: Map<string, number> | null = null;
  return async () => {
    const known = seen ?? new Map<string, number>();
    const fresh: AccountEvent[] = [];
    let from = seen === null ? null : Math.max(0, ...known.values()) - OVERLAP_MS;
    for await (const event of account.listEvents({ limit: PAGE_ROWS }, { signal })) {
      const at = Date.parse(event.createdAt);
      from ??= at - OVERLAP_MS;
      if (at < from) break;
      if (!known.has(event.id)) fresh.push(event);
    }
    const isFirst = seen === null;
    for (const { id, createdAt } of fresh) known.set(id, Date.parse(createdAt));
    for (const [id, at] of known) if (at < (from ?? 0) - OVERLAP_MS) known.delete(id);
    seen = known;
    return isFirst ? [] : fresh.reverse();
  };
}

export const listen: Subcommand = {
  name: 'listen',
  usage: '--forward URL [--secret SECRET]',
  about:
    'Print the events of the account as they occur, and post each once, signed like a webhook, to a program on this machine. ' +
    'Needs a key of scope "account". Default of --secret: a new one, which is printed.',
  options: { forward: { type: 'string' }, secret: { type: 'string' } },
  operands: 0,
  async run(values, _operands, surroundings) {
    const { out, progress, signal } = surroundings;
    const to = textOf(values.forward) ?? '';
    if (!URL.canParse(to) || !/^https?:/.test(to))
      throw new UsageError('--forward takes an http or https URL.');
    const secret = textOf(values.secret) ?? newSecret();
    if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret))
      throw new UsageError('--secret is whsec_ followed by base64.');
    const next = createFeed(await openAccount(values, surroundings), signal);
    await next();
    out(`Forwarding events to ${to}, signed with ${secret}\n`);
    for (;;) {
      try {
        for (const event of await next())
          out(
            `${event.createdAt}  ${event.event}  ${event.id}  ${await forward(event, to, secret, signal)}\n`,
          );
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error;
        progress('The service is unreachable; retrying.');
      }
      await sleep(POLL_MS, undefined, { signal });
    }
  },
};
