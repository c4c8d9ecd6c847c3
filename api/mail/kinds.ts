/**
 * Kinds of email, for logs and metrics. `taken`: a sign-up used a registered email address. `change` and `changed`: to
 * the new and to the old address of a user. `passkey`: a passkey was added or removed. `topUp`: an automatic top-up failed.
 */
export const MAIL_KINDS = [
  'verify',
  'reset',
  'taken',
  'disabled',
  'balance',
  'refused',
  'budget',
  'topUp',
  'change',
  'changed',
  'closed',
  'passkey',
] as const;

export type MailKind = (typeof MAIL_KINDS)[number];
