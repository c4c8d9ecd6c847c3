import { run } from './bootstrap.mjs';

await run('dev/test.ts', process.argv.slice(2));
