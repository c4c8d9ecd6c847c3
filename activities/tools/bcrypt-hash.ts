import { randomBytes } from 'node:crypto';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/bcrypt-hash.ts';
import { bcryptHash } from '../passwords/bcrypt.ts';

/** bcrypt (Provos and Mazières 1999) under a salt of 16 random bytes. */
export async function run(input: ToolInput<typeof definition>): Promise<ToolOutput<typeof definition>> {
  return { hash: await bcryptHash(Buffer.from(input.password), randomBytes(16), input.workFactor) };
}
