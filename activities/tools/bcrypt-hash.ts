import { randomBytes } from 'node:crypto';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/bcrypt-hash.ts';
import { bcryptHash } from '../passwords/bcrypt.ts';

/** Hashes a password with bcrypt (Provos and Mazières 1999) and a random 16-byte salt. */
export async function run(input: ToolInput<typeof definition>): Promise<ToolOutput<typeof definition>> {
  return { hash: await bcryptHash(Buffer.from(input.password), randomBytes(16), input.workFactor) };
}
