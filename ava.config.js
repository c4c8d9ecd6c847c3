export default {
  extensions: ['ts'],
  files: ['test/**/*.test.ts'],
  workerThreads: false,
  concurrency: 2,
  timeout: '180s',
};
