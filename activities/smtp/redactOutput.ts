import type { ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/smtp-test.ts';
import { createRedactor } from './redact.ts';

type Output = ToolOutput<typeof definition>;

interface Transcript {
  output: Output;
  /** User name and password. */
  secrets: readonly string[];
  /** Base64 texts that were sent to the server and contain credentials. */
  sent: readonly string[];
}

/** Counts the characters of the output that the server sent. */
export const serverTextLength = ({ steps, extensions, authMechanisms }: Output): number =>
  [...steps.map(({ reply }) => reply ?? ''), ...extensions, ...authMechanisms].reduce(
    (sum, { length }) => sum + length,
    0,
  );

/** Removes credentials from every text that the server sent. */
export function redactOutput({ output, secrets, sent }: Transcript): Output {
  const redact = createRedactor(secrets, sent);
  const redactNullable = (texts: readonly (string | null)[]): (string | null)[] => {
    const clean = redact(texts.map((text) => text ?? ''));
    return texts.map((text, index) => (text === null ? null : (clean[index] ?? '')));
  };
  const replies = redactNullable(output.steps.map(({ reply }) => reply));
  const [certificateSubject = null, certificateIssuer = null] = redactNullable([
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
