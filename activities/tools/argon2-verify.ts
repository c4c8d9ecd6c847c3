import { timingSafeEqual } from 'node:crypto';
import { invalidInput } from '../../schemas/errors.ts';
import { parseArgon2 } from '../../schemas/formats/argon2.ts';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/argon2-verify.ts';
import { argon2Tag } from '../passwords/argon2.ts';

/** Verifies a password against an Argon2 hash (RFC 9106), comparing in constant time. */
export async function run(input: ToolInput<typeof definition>): Promise<ToolOutput<typeof definition>> {
  const hash = parseArgon2(input.hash);
  if (hash === null) throw invalidInput([{ pointer: '/hash', message: 'is not an Argon2 hash' }]);
  return { matches: timingSafeEqual(argon2Tag(Buffer.from(input.password), hash), hash.tag) };
}
