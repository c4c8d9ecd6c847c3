import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/smtp-test.ts';
import type { NetworkContext } from '../context.ts';
import { converse, newFindings } from '../smtp/conversation.ts';
import { createRedactor } from '../smtp/redact.ts';
import { isServerFault, openSession } from '../smtp/session.ts';

type Output = ToolOutput<typeof definition>;

const TOTAL_MS = 30_000;
const LOOK_UP_MS = 10_000;
/** So that a slow server is answered as such before the attempt itself is out of time. */
const RESERVE_MS = 200;

/** Without the credentials, wherever the server could have put them. */
function redacted(output: Output, secrets: readonly string[], sent: readonly string[]): Output {
  const redact = createRedactor(secrets, sent);
  const some = (texts: readonly (string | null)[]): (string | null)[] => {
    const clean = redact(texts.map((text) => text ?? ''));
    return texts.map((text, index) => (text === null ? null : (clean[index] ?? '')));
  };
  const replies = some(output.steps.map(({ reply }) => reply));
  const [certificateSubject = null, certificateIssuer = null] = some([
    output.certificateSubject,
    output.certificateIssuer,
  ]);
  return {
    ...output,
    certificateSubject,
    certificateIssuer,
    extensions: redact(output.extensions),
    authMechanisms: redact(output.authMechanisms),
    steps: output.steps.map((step, index) => ({ ...step, reply: replies[index] ?? null })),
  };
}

/** Holds a conversation with a mail server up to AUTH; once that has greeted, whatever comes of it is the result. */
export async function run(
  input: ToolInput<typeof definition>,
  { egress, signal, deadline }: Pick<NetworkContext, 'egress' | 'signal' | 'deadline'>,
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
  return redacted({ ...findings, steps: session.steps }, secrets, sent);
}
