import { createGuard, type Guard, type Socket } from '../../egress/guard.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { issueCertificate } from './certificates.ts';
import { never } from './egress.ts';
import { recordsAt } from './json.ts';
import { loadTool } from './tool.ts';

/** The host name of the SMTP servers in the tests. */
export const MAIL_HOST = 'mail.example.com';

export const root = await issueCertificate({
  subject: '/C=US/O=Test/CN=Root',
  issuer: null,
  authority: true,
});
export const mailSite = { subject: `/O=Mail/CN=${MAIL_HOST}`, names: [`DNS.1=${MAIL_HOST}`], issuer: root };
export const good = await issueCertificate(mailSite);

const tool = await loadTool('smtp-test');

/** Returns a guard for a network in which every host name resolves to this address. */
export const networkOf = (address: string) =>
  createGuard({
    resolver: { addresses: async () => ({ addresses: [address], chain: [] }) },
    allow: [parseAllow('127.0.0.0/8')],
    ownPorts: [],
    ca: [root.cert],
  });

const watched = (guard: Guard, onConnect: Target['onConnect'] = () => undefined): Guard => ({
  ...guard,
  async connect(...args) {
    const client = await guard.connect(...args);
    onConnect(client);
    return client;
  },
});

/** An SMTP server to run the tool against. */
interface Target {
  address: string;
  port: number;
  /** Called with the tool's connection. */
  onConnect?(client: Socket): void;
}

/** Runs the tool against an SMTP server and returns its output. */
export const probe = (
  { address, port, onConnect }: Target,
  body: Record<string, unknown> = {},
  ms = 60_000,
  signal: AbortSignal = never,
) =>
  tool.call(
    { host: MAIL_HOST, port, ...body },
    { egress: watched(networkOf(address), onConnect), deadline: Date.now() + ms, signal },
  );

/**
 * Abbreviates the steps of an output: `ehlo 250`, followed by `!` if the step failed, and with `-` instead of a code if
 * the server did not reply.
 */
export const stepsOf = (output: Record<string, unknown>): string[] =>
  recordsAt(output.steps).map(({ step, code, ok }) => `${step} ${code ?? '-'}${ok === true ? '' : ' !'}`);
