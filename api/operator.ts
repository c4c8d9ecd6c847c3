import type { Env } from '../schemas/env.ts';
import type { OperatorText } from '../schemas/envValues.ts';

/** The operator of the installation, with contact details. */
export interface Operator {
  name: string;
  email: string;
  /** Postal address in one line. */
  address: string | null;
  /** For reports of security problems. */
  securityEmail: string;
  terms: OperatorText | null;
  privacy: OperatorText | null;
}

/** Returns the operator that the environment names; null if it names none. */
export function operatorOf(env: Env): Operator | null {
  const { OPERATOR_NAME: name, SUPPORT_EMAIL: email } = env;
  if (name === null || email === null) return null;
  return {
    name,
    email,
    address: env.OPERATOR_ADDRESS,
    securityEmail: env.SECURITY_EMAIL ?? email,
    terms: env.TERMS_OF_SERVICE,
    privacy: env.PRIVACY_POLICY,
  };
}

/** A `mailto:` URL (RFC 6068). */
export function mailto(email: string): string {
  const at = email.lastIndexOf('@');
  return `mailto:${encodeURIComponent(email.slice(0, at))}@${encodeURIComponent(email.slice(at + 1))}`;
}
