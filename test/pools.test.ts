import test from 'ava';
import { CONFINED_POOLS, POOLS } from '../schemas/pools.ts';
import { loadRegistry, poolsWithSecrets } from '../schemas/registry.ts';

const tools = await loadRegistry();

test('the tools that open content of strangers in large programs are in confined pools', (t) => {
  for (const name of ['website-screenshot', 'html-to-image', 'word-to-pdf', 'image-upscale']) {
    const pool = tools.get(name)?.pool;
    t.true(pool !== undefined && CONFINED_POOLS.includes(pool), name);
  }
});

test('tools of confined pools have no secret fields, because their workers cannot reach the API', (t) => {
  t.true(poolsWithSecrets(tools).length > 0);
  t.deepEqual(
    poolsWithSecrets(tools).filter((pool) => CONFINED_POOLS.includes(pool)),
    [],
  );
});

test('the name of a pool fits into names of services, networks and variables', (t) => {
  t.true(POOLS.length > 0);
  for (const pool of POOLS) t.regex(pool, /^[a-z]+$/);
});
