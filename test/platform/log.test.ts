import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'ava';

/** Runs statements with a logger `log` and its adapter `sdk` in a process of its own, and returns the lines it logs. */
async function logged(statements: string): Promise<Record<string, unknown>[]> {
  const at = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
  const code = `
    import { createLog, sdkLog } from ${at('../../platform/log.ts')};
    import { loadRegistry } from ${at('../../schemas/registry.ts')};
    const log = createLog({ LOG_LEVEL: 'info' }, 'test', await loadRegistry());
    const sdk = sdkLog(log);
    ${statements}`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module-typescript',
    '-e',
    code,
  ]);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('a platform error is logged with its type, message and stack', async (t) => {
  const [first, second] = await logged(`
    const error = AbortSignal.abort().reason;
    sdk.warn('Activity failed', { error, durationMs: 3 });
    log.warn({ nested: { error } }, 'nested');`);
  t.like(first, { msg: 'Activity failed', durationMs: 3, error: { type: 'DOMException' } });
  t.like(first?.error, { message: 'This operation was aborted' });
  t.regex(JSON.stringify(first), /"stack":"AbortError: This operation/);
  t.like(second, { msg: 'nested', nested: { error: { type: 'DOMException' } } });
});

test('causes of an error are logged with it, and secrets beside it are redacted', async (t) => {
  const [line] = await logged(`
    const err = new Error('outer', { cause: new Error('inner') });
    log.error({ err: Object.assign(err, { code: 'E1' }), input: { password: 'hunter2' } }, 'failed');`);
  t.like(line, {
    err: { type: 'Error', message: 'outer: inner', code: 'E1' },
    input: { password: '[secret]' },
  });
  t.regex(JSON.stringify(line), /caused by: Error: inner/);
});

test('fields that cannot be read do not make logging throw', async (t) => {
  const lines = await logged(`
    log.warn({ field: { get password() { throw new Error('unreadable'); } } }, 'getter');
    sdk.error('trap', new Proxy({}, { ownKeys() { throw new Error('unreadable'); } }));
    const circle = { count: 1n };
    circle.circle = circle;
    log.info(circle, 'circle');
    log.error({ err: Object.freeze(new Error('frozen')) }, 'frozen');`);
  t.deepEqual(
    lines.map(({ msg }) => msg),
    ['getter', 'trap', 'circle', 'frozen'],
  );
});
