import type { TLSSocket } from 'node:tls';

/**
 * OpenSSL error codes that Node reports as UNSPECIFIED and that a default verification can return, by their texts
 * (X509_verify_cert_error_string in crypto/x509/x509_txt.c).
 */
const NAMES: Readonly<Record<string, string>> = {
  "issuer certificate doesn't have a public key": 'NO_ISSUER_PUBLIC_KEY',
  'key usage does not include certificate signing': 'KEYUSAGE_NO_CERTSIGN',
  'unhandled critical extension': 'UNHANDLED_CRITICAL_EXTENSION',
  'invalid non-CA certificate (has CA markings)': 'INVALID_NON_CA',
  'proxy path length constraint exceeded': 'PROXY_PATH_LENGTH_EXCEEDED',
  'key usage does not include digital signature': 'KEYUSAGE_NO_DIGITAL_SIGNATURE',
  'proxy certificates not allowed, please set the appropriate flag': 'PROXY_CERTIFICATES_NOT_ALLOWED',
  'invalid or inconsistent certificate extension': 'INVALID_EXTENSION',
  'invalid or inconsistent certificate policy extension': 'INVALID_POLICY_EXTENSION',
  'no explicit policy': 'NO_EXPLICIT_POLICY',
  'unsupported extension feature': 'UNSUPPORTED_EXTENSION_FEATURE',
  "RFC 3779 resource not subset of parent's resources": 'UNNESTED_RESOURCE',
  'permitted subtree violation': 'PERMITTED_VIOLATION',
  'excluded subtree violation': 'EXCLUDED_VIOLATION',
  'name constraints minimum and maximum not supported': 'SUBTREE_MINMAX',
  'unsupported name constraint type': 'UNSUPPORTED_CONSTRAINT_TYPE',
  'unsupported or invalid name constraint syntax': 'UNSUPPORTED_CONSTRAINT_SYNTAX',
  'unsupported or invalid name syntax': 'UNSUPPORTED_NAME_SYNTAX',
  'path loop': 'PATH_LOOP',
  'EE certificate key too weak': 'EE_KEY_TOO_SMALL',
  'CA certificate key too weak': 'CA_KEY_TOO_SMALL',
  'CA signature digest algorithm too weak': 'CA_MD_TOO_WEAK',
  'issuer certificate lookup error': 'STORE_LOOKUP',
  'proxy subject name violation': 'PROXY_SUBJECT_NAME_VIOLATION',
  'Cannot find certificate signature algorithm': 'UNSUPPORTED_SIGNATURE_ALGORITHM',
  'subject signature algorithm and issuer public key algorithm mismatch': 'SIGNATURE_ALGORITHM_MISMATCH',
  'cert info signature and signature algorithm mismatch': 'SIGNATURE_ALGORITHM_INCONSISTENCY',
  'Certificate public key has explicit ECC parameters': 'EC_KEY_EXPLICIT_PARAMS',
};

/**
 * Returns OpenSSL's verification error for the certificates that the server sent, such as `CERT_HAS_EXPIRED`; null when
 * they are valid. Node's public API reports the error only at the end of the handshake, and not every code.
 *
 * @returns undefined when the socket is closed, or when the internals of this version of Node have no such error
 */
export function verifyErrorOf(socket: TLSSocket): string | null | undefined {
  const handle: unknown = Reflect.get(socket, '_handle');
  if (typeof handle !== 'object' || handle === null) return undefined;
  const verifyError: unknown = Reflect.get(handle, 'verifyError');
  if (typeof verifyError !== 'function') return undefined;
  const error: unknown = verifyError.call(handle);
  if (!(error instanceof Error)) return null;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.message;
  return NAMES[error.message] ?? code;
}

/** Common faults of certificates in words, by OpenSSL's or Node's error code. */
const REASONS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its chain ends at a root that is not trusted',
  UNABLE_TO_GET_ISSUER_CERT: 'an issuer in its chain is missing or not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its issuer is missing or not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its issuer is missing or not trusted',
  ERR_TLS_CERT_ALTNAME_INVALID: 'it is not for this host',
};

/** Returns the detail of a `target_failed` error for the error with which Node rejected a certificate. */
export function explainCertificate(error: unknown): string {
  if (!(error instanceof Error)) return 'The certificate of the target is not valid.';
  const named = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const code = NAMES[error.message] ?? named;
  const reason = REASONS[code] ?? error.message;
  return `The certificate of the target is not valid: ${reason}${code === '' ? '' : ` (${code})`}.`;
}
