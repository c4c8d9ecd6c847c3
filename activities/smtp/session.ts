import { startClock } from '../../egress/clock.ts';
import { readSocketError } from '../../egress/failure.ts';
import type { Guard, Socket } from '../../egress/guard.ts';
import { ANYTHING } from '../../egress/probe.ts';
import type { Vetted } from '../../egress/vet.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/smtp-test.ts';
import { type CertificateReport, readCertificate } from './certificate.ts';
import { createReplyReader, type Reply, type ReplyReader } from './reply.ts';

export type Step = ToolOutput<typeof definition>['steps'][number];
type StepName = Step['step'];

/** A conversation with a mail server, each step of it on record, also the one that fails. */
export interface Session extends Disposable {
  readonly steps: Step[];
  /**
   * Sends a line, null for none, and reads the reply.
   *
   * @param wanted the code with which all is well, or several
   * @param shown what stands on record for the line
   * @throws ServiceError target_failed, target_timeout, deadline_exceeded; the signal's reason
   */
  ask(step: StepName, line: string | null, wanted: number | number[], shown?: string): Promise<Reply>;
  /** Upgrades the connection. What the server sent before it is dropped. @throws as `ask` */
  startTls(): Promise<CertificateReport>;
  /** Drops what the server says beyond its reply. @returns whether it said anything */
  drain(): Promise<boolean>;
  /** Puts on record what was not done, and why. */
  note(step: StepName, why: string): void;
}

const STEP_MS = 10_000;
/** Whoever slips something in writes it right behind the reply. */
const INJECTION_MS = 50;

/**
 * Opens the connection.
 *
 * @throws ServiceError target_failed, target_timeout, deadline_exceeded; the signal's reason
 */
export async function openSession(
  egress: Pick<Guard, 'connect' | 'startTls' | 'rootOf'>,
  vetted: Vetted,
  { signal, deadline }: { signal: AbortSignal; deadline: number },
): Promise<Session> {
  const steps: Step[] = [];
  const whole = startClock({ signal, deadline });

  async function record<T>(
    step: Pick<Step, 'step' | 'command'>,
    work: (limits: { signal: AbortSignal; deadline: number }) => Promise<T>,
    tell: (result: T) => Pick<Step, 'reply' | 'code' | 'ok'>,
  ): Promise<T> {
    const startedAt = performance.now();
    const duration = () => Math.round(performance.now() - startedAt);
    using clock = startClock({ signal, deadline: Math.min(whole.deadline, Date.now() + STEP_MS) });
    try {
      const result = await work(clock);
      steps.push({ ...step, ...tell(result), ms: duration() });
      return result;
    } catch (error) {
      signal.throwIfAborted();
      const failure = clock.explain(readSocketError(error));
      if (failure instanceof ServiceError)
        steps.push({ ...step, reply: failure.detail, code: null, ms: duration(), ok: false });
      throw failure;
    }
  }

  let socket: Socket = await record(
    { step: 'connect', command: null },
    (limits) => egress.connect(vetted, limits),
    () => ({ reply: null, code: null, ok: true }),
  ).catch((error: unknown) => {
    whole[Symbol.dispose]();
    throw error;
  });
  let reader: ReplyReader = createReplyReader(socket);

  return {
    steps,
    ask: (step, line, wanted, shown = line ?? undefined) =>
      record(
        { step, command: shown ?? null },
        (limits) => {
          if (line !== null) socket.write(`${line}\r\n`);
          return reader.next(limits.signal);
        },
        ({ code, lines }) => ({ reply: lines.join('\n'), code, ok: [wanted].flat().includes(code) }),
      ),
    async startTls() {
      const { certificate } = await record(
        { step: 'tls', command: null },
        async (limits) => {
          const secure = await egress.startTls(socket, vetted, { ...ANYTHING, ...limits });
          socket = secure;
          reader = createReplyReader(secure);
          const cipher = `${secure.getProtocol()} ${secure.getCipher().standardName}`;
          return { certificate: readCertificate(secure, vetted, egress.rootOf), cipher };
        },
        ({ cipher }) => ({ reply: cipher, code: null, ok: true }),
      );
      return certificate;
    },
    drain: () => reader.drain(INJECTION_MS, signal),
    note(step, why) {
      steps.push({ step, command: null, reply: why, code: null, ms: 0, ok: false });
    },
    [Symbol.dispose]() {
      whole[Symbol.dispose]();
      socket.destroy();
    },
  };
}

/** A failure that the server caused. */
export const isServerFault = (error: unknown): boolean =>
  error instanceof ServiceError && (error.code === 'target_failed' || error.code === 'target_timeout');
