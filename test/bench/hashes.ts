import { argon2Sync, createHash, randomBytes } from 'node:crypto';
import * as nodeRs from '@node-rs/bcrypt';
import argon2 from 'argon2';
import { argon2Verify, bcrypt, sha256 } from 'hash-wasm';
import { loadTool } from '../helpers/tool.ts';
import { measure } from './measure.ts';
import type { Sizes } from './sizes.ts';

const PASSWORD = 'correct horse battery staple';
const COST = 11;
const MEGABYTE = 'x'.repeat(1_000_000);

interface HashRow {
  work: string;
  library: string;
  p50: number;
  /** p50 of the tool divided by p50 of the library. */
  ours: number;
}

/** Compares the hash tools, called without the stack, with libraries. The runs alternate, one at a time. */
export async function benchHashes({ rounds, runs }: Sizes['hashes']): Promise<HashRow[]> {
  const [hashText, bcryptHash, verify] = await Promise.all(
    ['hash-text', 'bcrypt-hash', 'argon2-verify'].map(loadTool),
  );
  const encoded = await argon2.hash(PASSWORD, { type: argon2.argon2id, memoryCost: 65_536, timeCost: 3 });
  const argon = { message: PASSWORD, nonce: randomBytes(16), parallelism: 4, tagLength: 32, memory: 65_536 };
  const groups: Record<string, Record<string, () => unknown>> = {
    'SHA-256 of 1 MB': {
      ours: () => hashText?.call({ text: MEGABYTE }),
      'node:crypto': () => createHash('sha256').update(MEGABYTE).digest('hex'),
      'hash-wasm': () => sha256(MEGABYTE),
    },
    'bcrypt, cost 11': {
      ours: () => bcryptHash?.call({ password: PASSWORD, workFactor: COST }),
      '@node-rs/bcrypt': () => nodeRs.hashSync(PASSWORD, { cost: COST }),
      'hash-wasm': () =>
        bcrypt({ password: PASSWORD, salt: randomBytes(16), costFactor: COST, outputType: 'encoded' }),
    },
    'Argon2id, 64 MiB, 3 passes, 4 lanes': {
      ours: () => verify?.call({ password: PASSWORD, hash: encoded }),
      'node:crypto': () => argon2Sync('argon2id', { ...argon, passes: 3 }),
      argon2: () => argon2.verify(encoded, PASSWORD),
      'hash-wasm': () => argon2Verify({ password: PASSWORD, hash: encoded }),
    },
  };
  const rows: HashRow[] = [];
  for (const [work, functions] of Object.entries(groups)) {
    const times = new Map<string, number[]>(Object.keys(functions).map((library) => [library, []]));
    for (let round = 0; round < rounds; round++)
      for (const [library, run] of Object.entries(functions))
        times.get(library)?.push((await measure(runs, 1, async () => run())).p50);
    const median = (library: string) =>
      times.get(library)?.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? Number.NaN;
    for (const library of Object.keys(functions))
      rows.push({ work, library, p50: median(library), ours: median('ours') / median(library) });
  }
  return rows;
}
