import type { ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/smtp-test.ts';
import { createRedactor } from './redact.ts';

type Output = ToolOutput<typeof definition>;

export interface Transcript {
  output: Output;
  /** User name and password. */
  secrets: readonly string[];
  /** The base64 of what was sent to the server with them in it. */
  sent: readonly string[];
}

/** Counts the characters of the output that the server sent. */
export const serverTextLength = ({ steps, extensions, authMechanisms }: Output): number =>
  [...steps.map(({ reply }) => reply ?? ''), ...extensions, ...authMechanisms].reduce(
    (sum, { length }) => sum + length,
    0,
  );

/** Without the credentials, wherever the server could have put them. */
export function redactOutput({ output, secrets, sent }: Transcript): Output {
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
