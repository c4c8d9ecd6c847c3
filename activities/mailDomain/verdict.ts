import { type ErrorCode, ServiceError } from '../../schemas/errors.ts';
import type { ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/smtp-test.ts';

/** Records that a domain publishes about its email; `schemas/formats/mailDomain.ts` describes it. */
export type DomainReport = NonNullable<ToolOutput<typeof definition>['domain']>;

/** Faults of one part of the report, as sentences. */
export interface Findings {
  errors: string[];
  warnings: string[];
}

export const newFindings = (): Findings => ({ errors: [], warnings: [] });

/** Adds `valid` to the findings. */
export const verdictOf = ({ errors, warnings }: Findings): Findings & { valid: boolean } => ({
  valid: errors.length === 0,
  errors: [...new Set(errors)],
  warnings: [...new Set(warnings)],
});

/** Failures of name servers and web servers. Other errors, such as `deadline_exceeded`, are faults of this service. */
const THEIRS: readonly ErrorCode[] = [
  ...(['host_not_found', 'target_refused', 'target_failed', 'target_timeout'] as const),
  'source_too_large',
];

/**
 * Runs a look-up or a request whose failure is a finding.
 *
 * @param what subject of the sentence, such as `The MX records`
 * @returns null when the other side failed
 * @throws the errors of `work` that are not the other side's
 */
export async function orError<T>(what: string, findings: Findings, work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ServiceError) || !THEIRS.includes(error.code)) throw error;
    findings.errors.push(`${what} could not be read: ${error.message}`);
    return null;
  }
}
