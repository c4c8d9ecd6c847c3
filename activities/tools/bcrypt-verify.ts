import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/bcrypt-verify.ts';
import { bcryptMatches } from '../passwords/bcrypt.ts';

/** bcrypt (Provos and Mazières 1999), by the rules of crypt_blowfish for each prefix. */
export async function run(input: ToolInput<typeof definition>): Promise<ToolOutput<typeof definition>> {
  return { matches: await bcryptMatches(Buffer.from(input.password), input.hash) };
}
