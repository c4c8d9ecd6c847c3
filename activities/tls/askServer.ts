import { setTimeout as sleep } from 'node:timers/promises';
import type { Limits } from '../../egress/clock.ts';
import { targetFailed } from '../../egress/failure.ts';
import type { Guard } from '../../egress/guard.ts';
import type { Vetted } from '../../egress/vet.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { Offer } from './clientHello.ts';
import { createConnectionLimit } from './connectionLimit.ts';
import { type Answer, type Refusal, sendOffer } from './sendOffer.ts';
import type { Choice } from './serverHello.ts';

/** Asks a server to choose from an offer. Resolves to null when it refuses. */
export type AskServer = (
  offer: Omit<Offer, 'serverName'>,
  options: { signal: AbortSignal; wholeFlight?: boolean },
) => Promise<Choice | null>;

/** Maximum number of concurrent connections. Servers may limit the connections from one IP address. */
const CONCURRENCY = 4;
/**
 * Milliseconds to wait before each repetition of an offer. A connection that is closed or not answered can mean that the
 * server refuses the offer, or that it limits connections: repeating the offer alone tells which. A server that accepts no
 * connections may limit their rate, and gets more time.
 */
const PAUSES_MS: Readonly<Record<Exclude<Refusal, 'alert'>, readonly number[]>> = {
  closed: [100],
  silent: [0],
  unreachable: [200, 1_000, 3_000],
};

const isRefusal = (answer: Answer): answer is Refusal => typeof answer === 'string';

/**
 * Returns a function that sends offers on separate connections, several at the same time unless the server turns out to
 * accept only one.
 *
 * @throws (the function) ServiceError `target_failed` when the server stops accepting connections, `target_timeout`; the
 *   signal's reason
 */
export function createAskServer(
  egress: Pick<Guard, 'connect'>,
  vetted: Vetted,
  { deadline }: Pick<Limits, 'deadline'>,
): AskServer {
  const connections = createConnectionLimit(CONCURRENCY);
  let refusesBySilence = false;

  return async (offer, { signal, wholeFlight = false }) => {
    const send = async (): Promise<Answer> => {
      // Only the target used up the time: a clock that starts after its deadline would report `deadline_exceeded`.
      if (Date.now() >= deadline) throw new ServiceError('target_timeout');
      return sendOffer(egress, vetted, offer, { signal, deadline }, wholeFlight);
    };
    const first = await connections.run(send);
    if (!isRefusal(first)) return first;
    if (first === 'alert' || (first === 'silent' && refusesBySilence)) return null;
    return connections.runAlone(async () => {
      // Another offer may have been repeated while this one waited.
      if (first === 'silent' && refusesBySilence) return null;
      let answer: Answer = first;
      for (const pause of PAUSES_MS[first]) {
        await sleep(pause, undefined, { signal }).catch(() => signal.throwIfAborted());
        answer = await send();
        if (answer !== 'unreachable') break;
      }
      if (answer === 'unreachable')
        throw targetFailed('refused', {
          detail: 'The target stopped accepting connections during the cipher scan.',
        });
      if (answer === 'silent') refusesBySilence = true;
      if (answer === 'alert' || !isRefusal(answer)) connections.restrict();
      return isRefusal(answer) ? null : answer;
    });
  };
}
