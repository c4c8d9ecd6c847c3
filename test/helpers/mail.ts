import { createGuard } from '../../egress/guard.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { never } from './egress.ts';
import { recordsAt } from './json.ts';
import { issueCertificate } from './pki.ts';
import { loadTool } from './tool.ts';

/** The host name of the mail servers in the tests. */
export const MAIL_HOST = 'mail.example.com';

export const root = await issueCertificate({
  subject: '/C=US/O=Test/CN=Root',
  issuer: null,
  authority: true,
});
export const mailSite = { subject: `/O=Mail/CN=${MAIL_HOST}`, names: [`DNS.1=${MAIL_HOST}`], issuer: root };
export const good = await issueCertificate(mailSite);

const tool = await loadTool('smtp-test');

/** A network in which every name resolves to that address. */
export const networkOf = (address: string) =>
  createGuard({
    resolver: { addresses: async () => ({ addresses: [address], chain: [] }) },
    allow: [parseAllow('127.0.0.0/8')],
    ownPorts: [],
    ca: [root.cert],
  });

/** Returns the tool's output for the server at that address. */
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

/** Abbreviates the steps: `ehlo 250`, with `!` where a step is not ok and `-` where there was no reply. */
export const stepsOf = (output: Record<string, unknown>): string[] =>
  recordsAt(output.steps).map(({ step, code, ok }) => `${step} ${code ?? '-'}${ok === true ? '' : ' !'}`);
