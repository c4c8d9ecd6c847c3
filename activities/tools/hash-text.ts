import { md5, sha1, sha256, sha512 } from 'hash-wasm';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/hash-text.ts';

const DIGESTS = { md5, sha1, sha256, sha512 };

/** Hashes the text with MD5 (RFC 1321) or a SHA function (RFC 6234). */
export async function run(input: ToolInput<typeof definition>): Promise<ToolOutput<typeof definition>> {
  return { algorithm: input.algorithm, hash: await DIGESTS[input.algorithm](input.text) };
}
