import { run } from '../../dev/bootstrap.mjs';

await run('test/containers/main.ts', process.argv.slice(2));
