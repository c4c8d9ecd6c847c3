import { createRequire } from 'node:module';

/*
 * Loaded into AVA before it starts. AVA's TAP output (supertap 3.0.1) takes the position of a failure from its stack. If the
 * stack has no frame outside Node.js and AVA, as after a timeout, the position is undefined, which js-yaml refuses: the
 * run ended without the name of the failed test, and the remaining files did not run. With `skipInvalid`, js-yaml leaves
 * out such values. Can be removed when test/dev/tap.test.ts passes without it.
 */
const requireFrom = (name, require) => createRequire(require.resolve(name));
const ofSupertap = requireFrom('supertap', requireFrom('ava', createRequire(import.meta.url)));
const yaml = ofSupertap('js-yaml');
const { safeDump } = yaml;
yaml.safeDump = (value, options) => safeDump(value, { skipInvalid: true, ...options });
