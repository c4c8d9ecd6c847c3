import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/smtp-test.ts';
import type redact from '../jobs/redact-output.ts';
import type { NetworkContext } from '../runtime/context.ts';
import { converse, newFindings } from '../smtp/conversation.ts';
import { redactOutput, serverTextLength } from '../smtp/redactOutput.ts';
import { isServerFault, openSession } from '../smtp/session.ts';

type Output = ToolOutput<typeof definition>;

const TOTAL_MS = 30_000;
const LOOKUP_MS = 10_000;
/** Milliseconds reserved for reporting a slow server before the attempt times out. */
const RESERVE_MS = 200;

/** Longer server text is redacted in a child process, because redacting the longest text allowed takes 100 ms. */
const MAX_INLINE_CHARACTERS = 16 * 1024;

/** Tests a mail server up to AUTH. Failures of the server after its banner are part of the result, not errors. */
export async function run(
  input: ToolInput<typeof definition>,
  { egress, offload, signal, deadline }: Pick<NetworkContext, 'egress' | 'offload' | 'signal' | 'deadline'>,
): Promise<Output> {
  const { host, port, username, password } = input;
  const target = egress.parseTarget(host, { kind: 'host', port, pointer: '/host' });
  const end = Math.min(deadline - RESERVE_MS, Date.now() + TOTAL_MS);
  const vetted = await egress.vet(target, { signal, deadline: Math.min(end, Date.now() + LOOKUP_MS) });
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
  const output = { ...findings, steps: session.steps };
  const transcript = { output, secrets, sent };
  return secrets.length === 0 || serverTextLength(output) <= MAX_INLINE_CHARACTERS
    ? redactOutput(transcript)
    : offload<typeof redact>('redact-output', transcript, { signal, deadline, isolated: true });
}
