import { createHash } from 'node:crypto';
import type { Json } from '../../helpers/json.ts';
import { ERAS, type Era } from '../../helpers/mcp.ts';
import type { Random } from '../../helpers/random.ts';

/** A kind of call, and how it ends when no fault happens. */
export interface Kind {
  tool: string;
  /** Either a result, or the code of the error that every attempt gets. */
  ending: 'result' | 'invalid_input' | 'target_refused' | 'target_failed';
  /** Whether the call may change its target. Such a call is sent at most once and continues after a disconnect. */
  acts: boolean;
  /** Whether the input has secret fields, which are not stored, so that the call cannot be replayed. */
  secret: boolean;
  /** Returns the input. @param id unique string that identifies the call */
  input(id: string, target: string): Json;
  /** Whether the output is correct for this id. */
  isRight(output: Json, id: string): boolean;
}

/** For paths that start with this, the target closes the connection without a response. */
export const BROKEN_PATH = '/broken/';
/** For paths that start with this, the target's response is too large for a workflow payload. */
const LARGE_PATH = '/large/';
const LARGE_BYTES = 100_000;
/**
 * For paths that start with this, the result is larger than all buffers between API and caller: JSON takes six bytes for
 * each of its characters.
 */
const HUGE_PATH = '/huge/';
const HUGE_CHARACTERS = 3_000_000;
/** For paths that start with this, the target does not respond. */
export const HELD_PATH = '/held/';

/** Returns the body of the target's response to a request for this path. */
export function bodyOf(path: string): string {
  if (path.startsWith(HUGE_PATH)) return path.padEnd(HUGE_CHARACTERS, '\u0001');
  return path.startsWith(LARGE_PATH) ? path.padEnd(LARGE_BYTES, '.') : path;
}

const plain = { ending: 'result', acts: false, secret: false } as const;
const none = () => false;

const request = (method: string, folder: string): Pick<Kind, 'tool' | 'input' | 'isRight'> => ({
  tool: 'http-request',
  input: (id, target) => ({ method, url: `${target}${folder}${id}` }),
  isRight: ({ body, statusCode }, id) => statusCode === 200 && body === bodyOf(`${folder}${id}`),
});

const HASH: Kind = {
  ...plain,
  tool: 'hash-text',
  input: (text) => ({ text }),
  isRight: ({ hash }, text) => hash === createHash('sha256').update(text).digest('hex'),
};
const QR: Kind = {
  ...plain,
  tool: 'qr-generate',
  input: (text) => ({ text, size: 64 }),
  isRight: ({ imageBase64 }) => typeof imageBase64 === 'string' && imageBase64.startsWith('iVBORw0KGgo'),
};
const BCRYPT: Kind = {
  ...plain,
  tool: 'bcrypt-hash',
  secret: true,
  input: (password) => ({ password, workFactor: 5 }),
  isRight: ({ hash }) => typeof hash === 'string' && hash.startsWith('$2b$05$'),
};
const GET: Kind = { ...plain, ...request('GET', '/get/') };
const LARGE: Kind = { ...plain, ...request('GET', LARGE_PATH) };
const POST: Kind = { ...plain, ...request('POST', '/post/'), acts: true };
const BROKEN: Kind = { ...plain, ...request('GET', BROKEN_PATH), ending: 'target_failed' };
const REFUSED: Kind = {
  ...plain,
  tool: 'http-request',
  ending: 'target_refused',
  input: (id) => ({ url: `http://10.1.2.3/${id}` }),
  isRight: none,
};
const INVALID: Kind = {
  ...plain,
  tool: 'hash-text',
  ending: 'invalid_input',
  input: (id) => ({ text: id, algorithm: 'none' }),
  isRight: none,
};

/** The kinds of calls whose connections end early. */
export const SMALL_KIND: Kind = HASH;
export const HELD_KIND: Kind = { ...plain, ...request('GET', HELD_PATH) };
export const HUGE_KIND: Kind = { ...plain, ...request('GET', HUGE_PATH) };

/**
 * Roles of callers; a role determines the kinds of calls. Each caller of an account has its own API key, whose prefix
 * the call list shows for each call.
 */
export const ROLES = ['keyed', 'unkeyed', 'impatient', 'acting', 'agent'] as const;
export type Role = (typeof ROLES)[number];

const KINDS: Record<Role, readonly Kind[]> = {
  keyed: [HASH, HASH, QR, GET, LARGE, BROKEN, REFUSED, POST],
  unkeyed: [HASH, HASH, QR, BCRYPT, GET, LARGE, BROKEN, REFUSED, INVALID],
  impatient: [HASH, QR, BCRYPT, GET, LARGE],
  acting: [POST],
  agent: [HASH, HASH, GET, LARGE, BROKEN, REFUSED, POST],
};

/** The kinds of calls that an account makes simultaneously, with too few credits for all of them. */
export const RACE_KINDS: readonly Kind[] = [HASH, GET, LARGE];

/** All random decisions of one call. */
export interface Plan {
  id: string;
  kind: Kind;
  key: string | null;
  /** The interface of the service that the caller uses: the HTTP API, or MCP as clients of one of the eras. */
  through: 'http' | Era;
  /**
   * One entry per concurrent request: after how many milliseconds its caller disconnects, or null to wait for the
   * response.
   */
  requests: (number | null)[];
  /** Whether the caller gives up after an error instead of repeating the call. */
  givesUp: boolean;
  /** Number of the first request's API process, modulo the number of API processes. */
  api: number;
  pauseMs: number;
}

/**
 * Chooses the next call of a caller. Always consumes the same number of random numbers, so that a seed reproduces the
 * same calls.
 */
export function planCall(random: Random, role: Role, id: string): Plan {
  const kind = random.pick(KINDS[role]);
  const duplicates = random.pick([1, 1, 2, 4]);
  const hangUpMs = random.integer(0, 1500);
  const hangsUp = random.integer(1, 4) === 1;
  const givesUp = random.integer(1, 4) === 1;
  const api = random.integer(0, 1);
  const pauseMs = random.integer(0, 200);
  const era = random.pick(ERAS);
  const isKeyed = role === 'keyed' || role === 'agent';
  const first = role === 'impatient' || (hangsUp && role !== 'unkeyed') ? hangUpMs : null;
  return {
    id,
    kind,
    key: isKeyed ? id : null,
    through: role === 'agent' ? era : 'http',
    requests: [first, ...Array.from({ length: isKeyed ? duplicates - 1 : 0 }, () => null)],
    givesUp: givesUp || !isKeyed,
    api,
    pauseMs,
  };
}
