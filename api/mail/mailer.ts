import { createTransport } from 'nodemailer';
import type { Logger } from 'pino';
import type { Env } from '../../schemas/env.ts';
import type { ApiMetrics } from '../http/metrics.ts';

export interface Mail {
  /** What it is about, for log and metrics. */
  kind: 'verify' | 'reset' | 'taken' | 'disabled';
  /** One address. */
  to: string;
  subject: string;
  text: string;
  /** Where the mail leads; also in the text. */
  link: string;
  /** Makes its Message-ID, so that a mail which is sent again is known for the same one. Default: a new one each. */
  id?: string;
}

export interface Mailer {
  /** Whether mail goes out, so that who answers it has shown whose address that is. */
  delivers: boolean;
  /** Whether links reach anybody at all: by mail, or on the console of a local stack. */
  reaches: boolean;
  /** Resolves when the mail server has taken the mail. @throws when it has not, within 30 s */
  send(mail: Mail): Promise<void>;
  /** Sends in the background: nobody waits for it, and a failure is logged and counted. */
  post(mail: Mail): void;
  /** Resolves when nothing is being sent any more. */
  settled(): Promise<void>;
}

/** For each step of the conversation, and for all of it. */
const STEP_MS = 10_000;
const WHOLE_MS = 30_000;
const NAME = 'Utility Tools';

const senderOf = ({ MAIL_FROM, PUBLIC_URL }: Pick<Env, 'MAIL_FROM' | 'PUBLIC_URL'>): string =>
  MAIL_FROM ?? `utility-tools@${PUBLIC_URL === null ? 'localhost' : new URL(PUBLIC_URL).hostname}`;

/** Hands a mail to the server of `SMTP_URL`. What has a password in it never travels in the clear. */
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
      // As an object, so that no address is read as a list of several.
      to: { name: '', address: to },
      subject,
      text,
      ...(id !== undefined && { messageId: `<${id}@${from.split('@')[1]}>` }),
      headers: { 'Auto-Submitted': 'auto-generated' }, // RFC 3834: nobody's holiday notice answers it
      signal: AbortSignal.timeout(WHOLE_MS),
    });
  };
}

/** What an operator needs to know, without what the server said: that can quote the mail. */
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

/** Mail by SMTP. Without `SMTP_URL` the link goes to the log instead, except in production, where links are secrets. */
export function createMailer({ env, log, metrics }: Dependencies): Mailer {
  const delivers = env.SMTP_URL !== null;
  const prints = !delivers && env.NODE_ENV !== 'production';
  const deliver = env.SMTP_URL === null ? null : createSmtp(env.SMTP_URL, senderOf(env));
  const sending = new Set<Promise<void>>();

  async function send(mail: Mail): Promise<void> {
    const { kind, to, subject, link } = mail;
    if (deliver === null) {
      if (prints) log.warn(`no SMTP_URL, so this is not mailed to ${to}: ${subject}: ${link}`);
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
      const sent = send(mail).catch(() => undefined); // logged already
      sending.add(sent);
      void sent.then(() => sending.delete(sent));
    },
    async settled() {
      await Promise.all(sending);
    },
  };
}
