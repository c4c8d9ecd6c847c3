import { relative } from 'node:path';
import { longestFirst, readTimings } from './dev/testing/timings.ts';

const root = import.meta.dirname;
const order = longestFirst(readTimings());

export default {
  extensions: ['ts'],
  files: ['test/**/*.test.ts'],
  workerThreads: false,
  concurrency: 2,
  sortTestFiles: (first, second) => order(relative(root, first), relative(root, second)),
  timeout: '180s',
};
