import { ServiceError } from '../../schemas/errors.ts';
import { isInternalName, parseHost } from '../../schemas/formats/hostname.ts';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/smtp-test.ts';
import type redact from '../jobs/redact-output.ts';
import { reportDomain } from '../mailDomain/report.ts';
import type { NetworkContext } from '../runtime/context.ts';
import { converse, newFindings } from '../smtp/conversation.ts';
import { redactOutput, serverTextLength } from '../smtp/redactOutput.ts';
import { isServerFault, openSession } from '../smtp/session.ts';

type Output = ToolOutput<typeof definition>;

const TOTAL_MS = 30_000;
const LOOKUP_MS = 10_000;
/** Time limit in milliseconds of the report on a domain. */
const REPORT_MS = 12_000;
/** Milliseconds reserved for reporting a slow server before the attempt times out. */
const RESERVE_MS = 200;

/** Longer server text is redacted in a child process, because redacting the longest text allowed takes 100 ms. */
const MAX_INLINE_CHARACTERS = 16 * 1024;

/** The name of a mail domain. @throws ServiceError target_refused for a name of an internal network */
function domainName(text: string): string {
  const host = parseHost(text);
  if (host.kind !== 'name' || isInternalName(host.name)) throw new ServiceError('target_refused');
  return host.name;
}

/** Tests a mail server up to AUTH. Failures of the server after its banner are part of the result, not errors. */
export async function run(
  input: ToolInput<typeof definition>,
  {
    egress,
    offload,
    resolver,
    signal,
    deadline,
  }: Pick<NetworkContext, 'egress' | 'offload' | 'resolver' | 'signal' | 'deadline'>,
): Promise<Output> {
  const { host, port, username, password } = input;
  const name = input.domain === undefined ? null : domainName(input.domain);
  const target = egress.parseTarget(host, { kind: 'host', port, pointer: '/host' });
  const end = Math.min(deadline - RESERVE_MS, Date.now() + TOTAL_MS);
  const vetted = await egress.vet(target, { signal, deadline: Math.min(end, Date.now() + LOOKUP_MS) });
  // Complete before any credentials are sent, so that no record can repeat them.
  const limits = { signal, deadline: Math.min(end, Date.now() + REPORT_MS) };
  const domain = name === null ? null : await reportDomain(name, resolver, egress, limits);
  using session = await openSession(egress, vetted, { signal, deadline: end });
  const findings = newFindings(input);
  const sent: string[] = [];
  try {
    await converse(session, input, findings, sent);
  } catch (error) {
    const greeted = session.steps.some(({ step, code }) => step === 'banner' && code !== null);
    if (!greeted || !isServerFault(error)) throw error;
  }
  if (session.talkedEarly) findings.flags.push('early_reply');
  const secrets = [username, password].filter((secret) => secret !== undefined);
  const output = { ...findings, domain, steps: session.steps };
  const transcript = { output, secrets, sent };
  return secrets.length === 0 || serverTextLength(output) <= MAX_INLINE_CHARACTERS
    ? redactOutput(transcript)
    : offload<typeof redact>('redact-output', transcript, { signal, deadline, isolated: true });
}
