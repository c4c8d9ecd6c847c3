import { run } from '../../dev/bootstrap.mjs';

const [script, ...args] = process.argv.slice(2);
await run(`test/containers/${script}`, args);
