import { createTransport } from 'nodemailer';
import type { Logger } from 'pino';
import type { Env } from '../../schemas/env.ts';
import type { ApiMetrics } from '../http/metrics.ts';
import type { MailKind } from './kinds.ts';

interface Mail {
  kind: MailKind;
  /** The recipient's email address. */
  to: string;
  subject: string;
  text: string;
  /** The main link in the text. */
  link: string;
  /** Local part of the Message-ID, which stays the same if the email is sent again. Default: a random one. */
  id?: string;
}

export interface Mailer {
  /** Whether email is sent by SMTP, so that email addresses can be verified. */
  delivers: boolean;
  /** Whether links reach users, either by email or in the log of a local stack. */
  reaches: boolean;
  /** Resolves when the mail server has accepted the email. @throws if it has not done so within 30 s */
  send(mail: Mail): Promise<void>;
  /** Sends an email in the background. Failures are logged and counted. */
  post(mail: Mail): void;
  /** Resolves when no email is being sent in the background any more. */
  settled(): Promise<void>;
}

/** Timeouts of each step of an SMTP session and of the whole session. */
const STEP_MS = 10_000;
const WHOLE_MS = 30_000;
const NAME = 'Utility Tools';

const senderOf = ({ MAIL_FROM, PUBLIC_URL }: Pick<Env, 'MAIL_FROM' | 'PUBLIC_URL'>): string =>
  MAIL_FROM ?? `utility-tools@${PUBLIC_URL === null ? 'localhost' : new URL(PUBLIC_URL).hostname}`;

/**
 * Creates the function that sends emails through the server of `SMTP_URL`. TLS is required if the URL contains
 * credentials.
 */
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
      // An object, because nodemailer parses a string as a list of addresses.
      to: { name: '', address: to },
      subject,
      text,
      ...(id !== undefined && { messageId: `<${id}@${from.split('@')[1]}>` }),
      headers: { 'Auto-Submitted': 'auto-generated' }, // suppresses automatic replies (RFC 3834)
      signal: AbortSignal.timeout(WHOLE_MS),
    });
  };
}

/**
 * Returns the fields of an SMTP error that may be logged. The server's reply text is left out, because it can quote
 * the email.
 */
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

/**
 * Creates the mailer, which sends emails by SMTP. Without `SMTP_URL` the links are logged instead, except in
 * production, because links are secrets.
 */
export function createMailer({ env, log, metrics }: Dependencies): Mailer {
  const delivers = env.SMTP_URL !== null;
  const prints = !delivers && env.NODE_ENV !== 'production';
  const deliver = env.SMTP_URL === null ? null : createSmtp(env.SMTP_URL, senderOf(env));
  const sending = new Set<Promise<void>>();

  async function send(mail: Mail): Promise<void> {
    const { kind, to, subject, link } = mail;
    if (deliver === null) {
      if (prints) log.warn(`SMTP_URL is not set, so this email to ${to} was not sent: ${subject}: ${link}`);
      return;
    }
    try {
      await deliver(mail);
    } catch (error) {
      metrics.mail(kind, 'failed');
      log.warn({ kind, ...reasonOf(error) }, 'an email could not be sent');
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
