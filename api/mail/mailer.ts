import { createTransport } from 'nodemailer';
import type { Logger } from 'pino';
import type { Env } from '../../schemas/env.ts';
import type { ApiMetrics } from '../http/metrics.ts';

export interface Mail {
  /** Kind of mail, for logs and metrics. `taken`: a sign-up with a registered address. */
  kind: 'verify' | 'reset' | 'taken' | 'disabled';
  /** One address. */
  to: string;
  subject: string;
  text: string;
  /** The main link of the text. */
  link: string;
  /** Local part of the Message-ID, the same for repeated sends of a mail. Default: a random one. */
  id?: string;
}

export interface Mailer {
  /** True if mail is sent by SMTP, so that addresses can be verified. */
  delivers: boolean;
  /** True if links reach users, either by mail or in the log of a local stack. */
  reaches: boolean;
  /** Resolves when the mail server has accepted the mail. @throws if it has not within 30 s */
  send(mail: Mail): Promise<void>;
  /** Sends in the background. Failures are logged and counted. */
  post(mail: Mail): void;
  /** Resolves when all background sends have ended. */
  settled(): Promise<void>;
}

/** Timeouts of each SMTP step and of the whole session. */
const STEP_MS = 10_000;
const WHOLE_MS = 30_000;
const NAME = 'Utility Tools';

const senderOf = ({ MAIL_FROM, PUBLIC_URL }: Pick<Env, 'MAIL_FROM' | 'PUBLIC_URL'>): string =>
  MAIL_FROM ?? `utility-tools@${PUBLIC_URL === null ? 'localhost' : new URL(PUBLIC_URL).hostname}`;

/** Sends by the server of `SMTP_URL`. TLS is required if the URL contains credentials. */
function createSmtp(url: string, from: string): Mailer['send'] {
  const transport = createTransport({
    url,
    requireTLS: new URL(url).username !== '',
    dnsTimeout: STEP_MS,
    connectionTimeout: STEP_MS,
    greetingTimeout: STEP_MS,
    socketTimeout: STEP_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return async ({ to, subject, text, id }) => {
    await transport.sendMail({
      from: { name: NAME, address: from },
      // An object, so that the address is not parsed as a list.
      to: { name: '', address: to },
      subject,
      text,
      ...(id !== undefined && { messageId: `<${id}@${from.split('@')[1]}>` }),
      headers: { 'Auto-Submitted': 'auto-generated' }, // RFC 3834: suppresses automatic replies
      signal: AbortSignal.timeout(WHOLE_MS),
    });
  };
}

/** Loggable fields of an SMTP error, without the server's reply text, which can quote the mail. */
function reasonOf(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return {};
  const [code, command, responseCode] = ['code', 'command', 'responseCode'].map((key): unknown =>
    Reflect.get(error, key),
  );
  return { code, command, responseCode, ...(responseCode === undefined && { reason: error.message }) };
}

interface Dependencies {
  env: Pick<Env, 'SMTP_URL' | 'MAIL_FROM' | 'PUBLIC_URL' | 'NODE_ENV'>;
  log: Logger;
  metrics: Pick<ApiMetrics, 'mail'>;
}

/** Sends mail by SMTP. Without `SMTP_URL`, links are logged instead, except in production, where links are secrets. */
export function createMailer({ env, log, metrics }: Dependencies): Mailer {
  const delivers = env.SMTP_URL !== null;
  const prints = !delivers && env.NODE_ENV !== 'production';
  const deliver = env.SMTP_URL === null ? null : createSmtp(env.SMTP_URL, senderOf(env));
  const sending = new Set<Promise<void>>();

  async function send(mail: Mail): Promise<void> {
    const { kind, to, subject, link } = mail;
    if (deliver === null) {
      if (prints) log.warn(`SMTP_URL is not set, so this mail to ${to} was not sent: ${subject}: ${link}`);
      return;
    }
    try {
      await deliver(mail);
    } catch (error) {
      metrics.mail(kind, 'failed');
      log.warn({ kind, ...reasonOf(error) }, 'a mail could not be sent');
      throw error;
    }
    metrics.mail(kind, 'sent');
  }

  return {
    delivers,
    reaches: delivers || prints,
    send,
    post(mail) {
      const sent = send(mail).catch(() => undefined); // logged by `send`
      sending.add(sent);
      void sent.then(() => sending.delete(sent));
    },
    async settled() {
      await Promise.all(sending);
    },
  };
}
