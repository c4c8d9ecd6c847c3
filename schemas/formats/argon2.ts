/** A parsed Argon2 hash. Its parameters have not been validated. */
export interface Argon2Hash {
  variant: 'argon2d' | 'argon2i' | 'argon2id';
  version: number;
  /** Memory cost in KiB. */
  memory: number;
  passes: number;
  lanes: number;
  salt: Buffer;
  /** Associated data, which is hashed with the password; may be empty. */
  data: Buffer;
  tag: Buffer;
}

/** Maximum length of an encoded hash, in characters. */
export const ARGON2_HASH_LENGTH = 1024;

/**
 * Maximum cost parameters: 256 MiB, 16 passes, 16 lanes. The time of a verification depends on `work`, memory times
 * passes in KiB, which is at most 1 GiB.
 */
const MAX = { memory: 256 * 1024, passes: 16, lanes: 16, work: 1024 * 1024 };

const ENCODED = /^\$(argon2(?:d|i|id))(?:\$v=(0|[1-9]\d*))?\$([^$]*)\$([^$]*)\$([^$]*)$/;
const PARAMETER = /^(?:([mtp])=(0|[1-9]\d*)|(keyid|data)=(.*))$/;

/** Decodes unpadded base64. Returns null if it is not canonical (invalid characters or non-zero trailing bits). */
function decode(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64').replace(/={1,2}$/, '') === text ? bytes : null;
}

const isVariant = (text: string | undefined): text is Argon2Hash['variant'] =>
  text === 'argon2d' || text === 'argon2i' || text === 'argon2id';

/** Parses `m=…,t=…,p=…`. Returns null if a parameter is unknown, repeated or not a number. */
function parseParameters(list: string): Map<string, string> | null {
  const parameters = new Map<string, string>();
  for (const item of list.split(',')) {
    const [, cost, number, name = cost, value = number] = PARAMETER.exec(item) ?? [];
    if (name === undefined || value === undefined || parameters.has(name)) return null;
    parameters.set(name, value);
  }
  return parameters;
}

/**
 * Parses the PHC string format like the reference decoder (phc-winner-argon2, `decode_string`): no leading zeros, no
 * base64 padding, a missing version is 16. Also accepts `keyid` and `data`, as older versions of the reference
 * decoder did; `keyid` names a key and does not affect the hash. Unlike the reference decoder, accepts parameters in
 * any order, because popular libraries write `m,p,t` (node-argon2) and `t,m,p` (phc-argon2).
 */
export function parseArgon2(hash: string): Argon2Hash | null {
  const [, variant, version = '16', list = '', saltText = '', tagText = ''] = ENCODED.exec(hash) ?? [];
  const parameters = parseParameters(list);
  if (!isVariant(variant) || parameters === null) return null;
  const { m, t, p, keyid = '', data: dataText = '' } = Object.fromEntries(parameters);
  if (m === undefined || t === undefined || p === undefined) return null;
  const salt = decode(saltText);
  const tag = decode(tagText);
  const data = decode(dataText);
  if (salt === null || tag === null || data === null || decode(keyid) === null) return null;
  const costs = { version: Number(version), memory: Number(m), passes: Number(t), lanes: Number(p) };
  return { variant, ...costs, salt, data, tag };
}

/**
 * Returns the reasons why an encoded hash cannot be verified: it violates a minimum of RFC 9106 section 3.1 or
 * exceeds a limit of `MAX`.
 */
export function argon2HashFaults(hash: string): string[] {
  const parsed = parseArgon2(hash);
  if (parsed === null)
    return ['is not an Argon2 hash of the form $argon2id$v=19$m=<KiB>,t=<passes>,p=<lanes>$<salt>$<hash>'];
  const { version, memory, passes, lanes, salt, tag } = parsed;
  const rules: [broken: boolean, message: string][] = [
    [version !== 16 && version !== 19, `has v=${version}; only 16 and 19 exist`],
    [memory > MAX.memory, `has m=${memory}; at most ${MAX.memory} (KiB, 256 MiB) is supported`],
    [passes > MAX.passes, `has t=${passes}; at most ${MAX.passes} is supported`],
    [lanes > MAX.lanes, `has p=${lanes}; at most ${MAX.lanes} is supported`],
    [
      memory * passes > MAX.work,
      `has m x t = ${memory * passes}; at most ${MAX.work} (1 GiB over all passes) is supported`,
    ],
    [memory < 8 * lanes, `has m=${memory}; Argon2 requires at least 8 for each of the p=${lanes} lanes`],
    [passes < 1, 'has t=0; Argon2 requires at least 1'],
    [lanes < 1, 'has p=0; Argon2 requires at least 1'],
    [salt.length < 8, `has a salt of ${salt.length} bytes; Argon2 requires at least 8`],
    [tag.length < 4, `has a hash of ${tag.length} bytes; Argon2 requires at least 4`],
  ];
  return rules.filter(([broken]) => broken).map(([, message]) => message);
}
