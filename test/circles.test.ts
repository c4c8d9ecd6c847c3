import { fileURLToPath } from 'node:url';
import test from 'ava';
import { parseCircular, parseDependencyTree, shortenTree } from 'dpdm';

const FOLDERS = ['api', 'activities', 'workers', 'workflows', 'schemas', 'store', 'egress', 'dev', 'clients'];

test('no modules import each other in a circle, including type imports', async (t) => {
  const cwd = fileURLToPath(new URL('..', import.meta.url));
  const tree = await parseDependencyTree(
    FOLDERS.map((folder) => `${folder}/**/*.ts`),
    { cwd, context: cwd, extensions: ['', '.ts', '.mjs'], include: /\.m?ts$/, exclude: /node_modules/ },
  );
  const short = shortenTree(cwd, tree);
  const imports = Object.values(short).flatMap((found) => found ?? []);
  t.true(imports.filter(({ id }) => id !== null).length > 1000, `${imports.length} imports`);
  t.deepEqual(
    parseCircular(short).map((circle) => circle.join(' -> ')),
    [],
  );
});
