/**
 * Variables of Node and of the C library that keep the processes of the service small. `npm start` and the tests set them for the
 * processes that they start, and `npm run docs` writes them to the Dockerfile, for Docker Compose and Kubernetes.
 */
export const MEMORY_VARIABLES = {
  // V8 keeps the memory of its young generation, which is three times this size in MB. Its default of 32 was measured to save no CPU
  // time beside 16; 8 costs some, because more objects live until the next collection.
  // `reportReady` collects garbage once.
  NODE_OPTIONS: '--max-semi-space-size=16 --expose-gc',
  // By default, glibc makes up to eight heaps per core, in which the threads of V8, libuv and Temporal's SDK leave gaps.
  MALLOC_ARENA_MAX: '2',
};
