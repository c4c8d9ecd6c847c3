import { packageFolder } from '../packages.ts';

/** Clients of cloud storage and profilers, which n8n's engine imports and these tests do not use: 120 MB. */
const UNUSED = [
  '@aws-sdk/client-s3',
  '@azure/identity',
  '@azure/storage-blob',
  '@sentry/node-native',
  '@sentry/profiling-node',
  'isolated-vm',
];

/**
 * n8n's engine, which loads packages of nodes and runs workflows, and the types for nodes. Its source maps and the tables of a
 * tokenizer are removed, half of the rest.
 */
export const n8n = packageFolder({
  name: 'n8n',
  packages: ['n8n-core@2.41.1', 'n8n-workflow@2.41.0'],
  client: 'npm',
  usually: 40,
  help: 'npm.',
  files: {
    'package.json': JSON.stringify({
      private: true,
      type: 'commonjs',
      overrides: Object.fromEntries(UNUSED.map((name) => [name, 'npm:empty-npm-package@1.0.0'])),
    }),
  },
  script: `npm install --ignore-scripts --no-audit --no-fund "$@"
find node_modules -name '*.map' -delete
rm -r node_modules/js-tiktoken/dist/ranks`,
});
