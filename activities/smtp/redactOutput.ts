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

/**
 * Number of steps before AUTH. The server does not know the credentials then, so its replies, certificate and capabilities
 * cannot repeat them. They often contain words that are also user names, such as a part of a host name.
 */
function stepsBeforeAuth({ steps }: Output): number {
  const at = steps.findIndex(({ step }) => step === 'auth');
  return at === -1 ? steps.length : at;
}

/** Counts the characters that the server sent and that can contain credentials. */
export const serverTextLength = (output: Output): number =>
  output.steps.slice(stepsBeforeAuth(output)).reduce((sum, { reply }) => sum + (reply?.length ?? 0), 0);

/** Removes credentials from every text that the server sent since AUTH. */
export function redactOutput({ output, secrets, sent }: Transcript): Output {
  const first = stepsBeforeAuth(output);
  const clean = createRedactor(secrets, sent)(output.steps.slice(first).map(({ reply }) => reply ?? ''));
  return {
    ...output,
    steps: output.steps.map((step, index) =>
      index < first || step.reply === null ? step : { ...step, reply: clean[index - first] ?? '' },
    ),
  };
}
