import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/*
 * Loaded into AVA 8.0.1 before it starts. AVA has no interface for reporters of one's own, so its TAP reporter is changed.
 */
const requireFrom = (name, require) => createRequire(require.resolve(name));
const ofAva = requireFrom('ava', createRequire(import.meta.url));

/*
 * AVA's TAP output (supertap 3.0.1) takes the position of a failure from its stack. If the stack has no frame outside Node.js
 * and AVA, as after a timeout, the position is undefined, which js-yaml refuses: the run ended without the name of the failed
 * test, and the remaining files did not run. With `skipInvalid`, js-yaml leaves out such values.
 */
const yaml = requireFrom('supertap', ofAva)('js-yaml');
const { safeDump } = yaml;
yaml.safeDump = (value, options) => safeDump(value, { skipInvalid: true, ...options });

/*
 * Every result begins with the path of its test file, also that of a file that crashes, and the end of each file is reported
 * with its duration. dev/testing/tap.ts reads both.
 */
const reporter = join(dirname(ofAva.resolve('ava')), '../lib/reporters/tap.js');
const { default: TapReporter } = await import(pathToFileURL(reporter).href);
const { startRun, writeCrash, consumeStateChange } = TapReporter.prototype;
const SEPARATOR = ' › ';
const started = new Map();
Object.assign(TapReporter.prototype, {
  startRun(plan) {
    const { status } = plan;
    const observeWorker = status.observeWorker.bind(status);
    status.observeWorker = (worker, file, stats) => {
      started.set(file, performance.now());
      observeWorker(worker, file, stats);
    };
    startRun.call(this, plan);
    this.prefixTitle = (file, title) => `${this.relativeFile(file)}${SEPARATOR}${title}`;
  },
  writeCrash(event, title) {
    const text = title ?? event.err.stack?.split('\n')[0].trim() ?? event.err.message ?? event.type;
    writeCrash.call(this, event, event.testFile ? this.prefixTitle(event.testFile, text) : text);
  },
  consumeStateChange(event) {
    consumeStateChange.call(this, event);
    if (event.type !== 'worker-finished' && event.type !== 'worker-failed') return;
    const ms = Math.round(performance.now() - started.get(event.testFile));
    this.reportStream.write(`# file ${this.relativeFile(event.testFile)} ended after ${ms} ms\n`);
  },
});
