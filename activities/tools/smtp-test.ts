import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/smtp-test.ts';
import type redact from '../jobs/redact-output.ts';
import type { NetworkContext } from '../runtime/context.ts';
import { converse, newFindings } from '../smtp/conversation.ts';
import { redactOutput, saidIn } from '../smtp/redactOutput.ts';
import { isServerFault, openSession } from '../smtp/session.ts';

type Output = ToolOutput<typeof definition>;

const TOTAL_MS = 30_000;
const LOOK_UP_MS = 10_000;
/** So that a slow server is answered as such before the attempt itself is out of time. */
const RESERVE_MS = 200;

/** Characters of a server's replies beyond which they are searched in another process: the most it may say takes 100 ms. */
const SHORT = 16 * 1024;

/** Holds a conversation with a mail server up to AUTH; once that has greeted, whatever comes of it is the result. */
export async function run(
  input: ToolInput<typeof definition>,
  { egress, offload, signal, deadline }: Pick<NetworkContext, 'egress' | 'offload' | 'signal' | 'deadline'>,
): Promise<Output> {
  const { host, port, username, password } = input;
  const target = egress.parseTarget(host, { kind: 'host', port, pointer: '/host' });
  const end = Math.min(deadline - RESERVE_MS, Date.now() + TOTAL_MS);
  const vetted = await egress.vet(target, { signal, deadline: Math.min(end, Date.now() + LOOK_UP_MS) });
  using session = await openSession(egress, vetted, { signal, deadline: end });
  const findings = newFindings(input);
  const sent: string[] = [];
  try {
    await converse(session, input, findings, sent);
  } catch (error) {
    const greeted = session.steps.some(({ step, code }) => step === 'banner' && code !== null);
    if (!greeted || !isServerFault(error)) throw error;
  }
  const secrets = [username, password].filter((secret) => secret !== undefined);
  const output = { ...findings, steps: session.steps };
  const transcript = { output, secrets, sent };
  return secrets.length === 0 || saidIn(output) <= SHORT
    ? redactOutput(transcript)
    : offload<typeof redact>('redact-output', transcript, { signal, deadline, isolated: true });
}
