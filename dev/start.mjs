import { run } from './bootstrap.mjs';

await run('dev/main.ts', process.argv.slice(2), { withTools: true });
