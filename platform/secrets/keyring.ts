import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Env } from '../../schemas/env.ts';
import { type MasterKey, parseMasterKeys } from '../../schemas/envValues.ts';

/**
 * Purpose of a derived key. HKDF derives one key per purpose, so that a ciphertext can be decrypted only for the
 * purpose for which it was encrypted.
 */
export type Purpose =
  | 'temporal-payload'
  | 'result'
  | 'file'
  | 'link'
  | 'call-content'
  | 'vault'
  | 'call-start'
  | 'call-result'
  | 'fingerprint'
  | 'reuse'
  | 'webhook-secret'
  | 'receipt-key'
  | 'payment-challenge'
  | 'session'
  | 'device'
  | 'check'
  | 'form';

const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts with the first master key and decrypts with any of them (AES-256-GCM, NIST SP 800-38D; keys derived by
 * HKDF-SHA256, RFC 5869). A sealed value is `length of key id | key id | iv | tag | ciphertext`.
 */
export interface Keyring {
  /** Id of the key that encrypts. */
  readonly currentId: string;
  /** Ids of all keys. */
  readonly ids: readonly string[];
  /** Whether the keyring has this key. */
  has(keyId: string): boolean;
  /** Encrypts. `context` is authenticated but not stored: `open` must be given the same. */
  seal(purpose: Purpose, context: string, plain: Uint8Array): Buffer;
  /** Decrypts. @throws if the key is missing, the purpose or context differ, or the data was changed */
  open(purpose: Purpose, context: string, sealed: Uint8Array): Buffer;
  /** Id of the key that encrypted the value. */
  keyIdOf(sealed: Uint8Array): string;
  /** HMAC-SHA256 as `<key id>:<base64url>`. Uses the current key unless `keyId` is given. */
  mac(purpose: Purpose, data: string, keyId?: string): string;
  /** Derives 32 bytes, for libraries that take a secret. Uses the current key unless `keyId` is given. */
  derive(purpose: Purpose, keyId?: string): Buffer;
}

export function createKeyring(keys: readonly MasterKey[]): Keyring {
  const [current] = keys;
  if (current === undefined) throw new Error('a keyring needs at least one key');
  const derived = new Map<string, KeyObject>();

  const keyFor = (purpose: Purpose, id: string): KeyObject => {
    const name = `${purpose}/${id}`;
    const known = derived.get(name);
    if (known !== undefined) return known;
    const master = keys.find((key) => key.id === id);
    if (master === undefined) throw new Error(`master key "${id}" is not in the ring`);
    const bytes = hkdfSync('sha256', master.bytes, '', `utility-tools/${purpose}`, 32);
    const key = createSecretKey(Buffer.from(bytes));
    derived.set(name, key);
    return key;
  };

  const keyIdOf = (sealed: Uint8Array): string =>
    Buffer.from(sealed.subarray(1, 1 + (sealed[0] ?? 0))).toString('latin1');

  return {
    currentId: current.id,
    ids: keys.map(({ id }) => id),
    has: (keyId) => keys.some(({ id }) => id === keyId),
    keyIdOf,
    derive: (purpose, keyId = current.id) => keyFor(purpose, keyId).export(),
    mac(purpose, data, keyId = current.id) {
      return `${keyId}:${createHmac('sha256', keyFor(purpose, keyId)).update(data).digest('base64url')}`;
    },
    seal(purpose, context, plain) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', keyFor(purpose, current.id), iv).setAAD(
        Buffer.from(context),
      );
      const data = Buffer.concat([cipher.update(plain), cipher.final()]);
      const id = Buffer.from(current.id, 'latin1');
      return Buffer.concat([Buffer.of(id.length), id, iv, cipher.getAuthTag(), data]);
    },
    open(purpose, context, sealed) {
      const id = keyIdOf(sealed);
      const body = sealed.subarray(1 + id.length);
      if (body.length < IV_BYTES + TAG_BYTES) throw new Error('the sealed value is truncated');
      const decipher = createDecipheriv('aes-256-gcm', keyFor(purpose, id), body.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      })
        .setAAD(Buffer.from(context))
        .setAuthTag(body.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      return Buffer.concat([decipher.update(body.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
    },
  };
}

/**
 * Loads the keyring from `MASTER_KEYS`, or else from a file in `DATA_DIR`, which is created with a new key on first
 * use (mode 0600).
 */
export function loadKeyring(env: Pick<Env, 'MASTER_KEYS' | 'DATA_DIR'>): Keyring {
  if (env.MASTER_KEYS !== null) return createKeyring(env.MASTER_KEYS);
  return createKeyring(parseMasterKeys(localKeys(env.DATA_DIR)));
}

function localKeys(folder: string): string {
  const path = join(folder, 'master.keys');
  mkdirSync(folder, { recursive: true });
  // Processes may start concurrently: each writes its own draft, and link() makes exactly one draft the key file.
  const draft = join(folder, `master.keys.${randomBytes(6).toString('hex')}`);
  writeFileSync(draft, `local:${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  try {
    linkSync(draft, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    rmSync(draft);
  }
  return readFileSync(path, 'utf8').trim();
}
