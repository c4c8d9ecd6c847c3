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

type Step = ToolOutput<typeof definition>['steps'][number];
type StepName = Step['step'];

/** A conversation with a mail server. Records every step, including the one that fails. */
export interface Session extends Disposable {
  readonly steps: Step[];
  /**
   * Sends a command line, unless it is null, and reads the reply. Replies that arrived before the line was sent are recorded
   * as a separate step, except a reply with code 421, with which a server may end the session at any time.
   *
   * @param wanted reply code or codes that mean success
   * @param shown text to record instead of the line, when the line contains credentials
   * @throws ServiceError target_failed, target_timeout, deadline_exceeded; the signal's reason
   */
  ask(step: StepName, line: string | null, wanted: number | number[], shown?: string): Promise<Reply>;
  /** Upgrades the connection to TLS and discards plaintext data that the server sent before. @throws like `ask` */
  startTls(): Promise<CertificateReport>;
  /** Discards data that the server sent after its last reply. @returns whether there was any */
  drain(): Promise<boolean>;
  /** Whether the server sent a reply before it received a command. */
  readonly talkedEarly: boolean;
  /** Records a step that was skipped, and why. */
  note(step: StepName, reason: string): void;
}

const STEP_MS = 10_000;
/**
 * How long to wait, in milliseconds, for data that the server sends unasked. A short wait suffices, because injected data
 * directly follows the reply to STARTTLS, and early replies directly follow the banner.
 */
const INJECTION_MS = 50;
/** Reply code with which a server ends the session, whatever the command was (RFC 5321 section 3.8). */
export const CLOSING = 421;

/**
 * Connects to a mail server.
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
    describe: (result: T) => Pick<Step, 'reply' | 'code' | 'ok'>,
  ): Promise<T> {
    const startedAt = performance.now();
    const duration = () => Math.round(performance.now() - startedAt);
    using clock = startClock({ signal, deadline: Math.min(whole.deadline, Date.now() + STEP_MS) });
    try {
      const result = await work(clock);
      steps.push({ ...step, ...describe(result), ms: duration() });
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

  let talkedEarly = false;

  /** Reads replies that arrived before a command was sent. @returns the reply with code 421 among them, or null */
  async function readEarly(limits: { signal: AbortSignal }): Promise<Reply | null> {
    const lines: string[] = [];
    let closing: Reply | null = null;
    let code = 0;
    while (closing === null && (await reader.hasMore(0, limits.signal))) {
      const reply = await reader.next(limits.signal);
      if (reply.code === CLOSING) closing = reply;
      else {
        ({ code } = reply);
        lines.push(...reply.lines);
      }
    }
    if (lines.length > 0) {
      talkedEarly = true;
      steps.push({ step: 'unsolicited', command: null, reply: lines.join('\n'), code, ms: 0, ok: false });
    }
    return closing;
  }

  return {
    steps,
    get talkedEarly() {
      return talkedEarly;
    },
    async ask(step, line, wanted, shown = line ?? undefined) {
      // Waits before the step is recorded, so that the step's duration is only the response time of the server.
      if (steps.at(-1)?.step === 'banner') await reader.hasMore(INJECTION_MS, whole.signal);
      return record(
        { step, command: shown ?? null },
        async (limits) => {
          if (line === null) return reader.next(limits.signal);
          const closing = await readEarly(limits);
          socket.write(`${line}\r\n`);
          return closing ?? reader.next(limits.signal);
        },
        ({ code, lines }) => ({ reply: lines.join('\n'), code, ok: [wanted].flat().includes(code) }),
      );
    },
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
    note(step, reason) {
      steps.push({ step, command: null, reply: reason, code: null, ms: 0, ok: false });
    },
    [Symbol.dispose]() {
      whole[Symbol.dispose]();
      socket.destroy();
    },
  };
}

/** Whether the mail server caused an error. */
export const isServerFault = (error: unknown): boolean =>
  error instanceof ServiceError && (error.code === 'target_failed' || error.code === 'target_timeout');
