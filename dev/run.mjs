import { run } from './bootstrap.mjs';

// Runs a TypeScript file of the project, named by the first argument.
const [script, ...args] = process.argv.slice(2);
await run(script, args);
