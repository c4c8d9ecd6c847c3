import { type Limits, startClock } from '../../egress/clock.ts';
import { failureKind } from '../../egress/failure.ts';
import type { Guard, Socket } from '../../egress/guard.ts';
import type { Vetted } from '../../egress/vet.ts';
import { encodeClientHello, type Offer } from './clientHello.ts';
import { type AnswerReader, type Choice, createAnswerReader } from './serverHello.ts';

/**
 * How a server refused an offer: with an alert or an answer that is not TLS, by closing the connection, by not answering
 * within the time limit, or by not accepting the connection.
 */
export type Refusal = 'alert' | 'closed' | 'silent' | 'unreachable';
export type Answer = Choice | Refusal;

/** Milliseconds for the connection and the answer to one ClientHello. */
const ANSWER_MS = 3_000;

/** Reads the answer of a server. Resolves when it is complete, the connection has closed or the signal has aborted. */
function readAnswer(socket: Socket, reader: AnswerReader, signal: AbortSignal): Promise<Refusal> {
  const { promise, resolve } = Promise.withResolvers<Refusal>();
  socket.on('data', (bytes: Buffer) => {
    try {
      if (reader.add(bytes)) resolve('alert');
    } catch {
      resolve('alert'); // An answer that cannot be parsed counts as a refusal.
    }
  });
  socket.once('close', () => resolve('closed'));
  const onAbort = (): void => resolve('silent');
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  return promise;
}

/**
 * Sends one ClientHello on a new connection, which is closed afterwards.
 *
 * @param wholeFlight whether to read up to the key exchange instead of up to the ServerHello
 * @throws ServiceError `target_timeout` or `deadline_exceeded` at the deadline of `limits`; the signal's reason
 */
export async function sendOffer(
  egress: Pick<Guard, 'connect'>,
  vetted: Vetted,
  offer: Omit<Offer, 'serverName'>,
  limits: Limits,
  wholeFlight: boolean,
): Promise<Answer> {
  const { host } = vetted.target;
  using whole = startClock(limits);
  using clock = startClock({
    signal: whole.signal,
    deadline: Math.min(limits.deadline, Date.now() + ANSWER_MS),
  });
  let socket: Socket | undefined;
  try {
    socket = await egress.connect(vetted, clock);
    const reader = createAnswerReader(wholeFlight);
    const answered = readAnswer(socket, reader, clock.signal);
    socket.write(encodeClientHello({ ...offer, serverName: host.kind === 'name' ? host.name : null }));
    const refusal = await answered;
    whole.signal.throwIfAborted();
    return reader.choice ?? refusal;
  } catch (error) {
    if (whole.signal.aborted) throw whole.signal.reason;
    if (clock.signal.aborted) return 'silent';
    if (failureKind(error) === null) throw error;
    return 'unreachable';
  } finally {
    socket?.destroy();
  }
}
