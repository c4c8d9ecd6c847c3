import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/bcrypt-verify.ts';
import { bcryptMatches } from '../passwords/bcrypt.ts';

/** Verifies a bcrypt hash (Provos and Mazières 1999) by crypt_blowfish's rules for each prefix. */
export async function run(input: ToolInput<typeof definition>): Promise<ToolOutput<typeof definition>> {
  return { matches: await bcryptMatches(Buffer.from(input.password), input.hash) };
}
