import { createGuard } from '../../egress/guard.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { never } from './egress.ts';
import { recordsAt } from './json.ts';
import { issueCertificate } from './pki.ts';
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

/** Runs the tool against the SMTP server at this address and returns its output. */
export const probe = (
  { address, port }: { address: string; port: number },
  body: Record<string, unknown> = {},
  ms = 60_000,
  signal: AbortSignal = never,
) =>
  tool.call(
    { host: MAIL_HOST, port, ...body },
    { egress: networkOf(address), deadline: Date.now() + ms, signal },
  );

/**
 * Abbreviates the steps of an output: `ehlo 250`, followed by `!` if the step failed, and with `-` instead of a code if
 * the server did not reply.
 */
export const stepsOf = (output: Record<string, unknown>): string[] =>
  recordsAt(output.steps).map(({ step, code, ok }) => `${step} ${code ?? '-'}${ok === true ? '' : ' !'}`);
