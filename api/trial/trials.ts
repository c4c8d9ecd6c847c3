import { type Fault, invalidInput } from '../../schemas/errors.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';

/** A tool that visitors can try on the landing page. */
export interface Trial {
  tool: ToolDefinition;
  /** Input fields of the form; the others have their defaults. */
  fields: readonly string[];
  /** Values with which the form starts. */
  input: Readonly<Record<string, string>>;
}

/** Tools that can be tried reach no other machine and need a core for some milliseconds. */
const TRIALS = [
  { name: 'qr-generate', fields: ['text', 'errorCorrection'], input: { text: 'https://example.com/' } },
  { name: 'hash-text', fields: ['text', 'algorithm'], input: { text: 'Hello, world' } },
] as const;

/** Maximum length of a text in a trial call, in UTF-16 code units. */
export const TRIAL_CHARACTERS = 500;

export const trialPath = (tool: string): string => `/try/${tool}`;

/** Returns the tools of the registry that can be tried. */
export const trialsOf = (registry: Registry): Trial[] =>
  TRIALS.flatMap(({ name, fields, input }) => {
    const tool = registry.get(name);
    return tool === undefined ? [] : [{ tool, fields, input }];
  });

/** Reduces a tool's input to the fields of its form. @throws ServiceError invalid_input for a longer text */
export function boundedInput({ fields }: Trial, input: Record<string, unknown>): Record<string, unknown> {
  const kept = Object.entries(input).filter(([name]) => fields.includes(name));
  const faults = kept.flatMap(([name, value]): Fault[] =>
    typeof value === 'string' && value.length > TRIAL_CHARACTERS
      ? [{ pointer: `/${name}`, message: `must have at most ${TRIAL_CHARACTERS} characters in a trial call` }]
      : [],
  );
  if (faults.length > 0) throw invalidInput(faults);
  return Object.fromEntries(kept);
}
