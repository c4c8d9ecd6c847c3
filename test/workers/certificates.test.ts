import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { machineEnv } from '../../dev/host.mjs';
import { CONFINED_POOLS } from '../../schemas/pools.ts';
import { issue } from '../../workers/certificates/issue.ts';

const run = promisify(execFile);
const OWNERS = ['server', 'client', 'ui', 'gateway', ...CONFINED_POOLS];

async function makeFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'certificates-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs the program of the service `certificates`. @returns the names of the certificates that it issued */
async function ensure(...args: string[]): Promise<string[]> {
  const { stdout } = await run(process.execPath, ['workers/certificates/main.ts', ...args], {
    env: machineEnv(),
  });
  return [...stdout.matchAll(/issued (\w+)\//g)].map(([, name = '']) => name).sort();
}

/** Verifies a certificate with openssl, as strictly as it can. */
const verifies = (ca: string, cert: string): Promise<boolean> =>
  run('openssl', ['verify', '-x509_strict', '-CAfile', ca, cert]).then(
    () => true,
    () => false,
  );

test('each owner gets a certificate of the right CA, in files that only the owner can read', async (t) => {
  const folder = await makeFolder(t);
  const at = (...parts: string[]) => join(folder, ...parts);
  t.deepEqual(await ensure(folder), OWNERS.toSorted());
  for (const name of OWNERS) {
    const ca = ['server', 'client', 'ui'].includes(name) ? 'temporal' : 'gateway';
    const other = ca === 'temporal' ? 'gateway' : 'temporal';
    t.true(await verifies(at('ca', `${ca}.crt`), at(name, 'tls.crt')), name);
    t.false(await verifies(at('ca', `${other}.crt`), at(name, 'tls.crt')), name);
    t.is(await readFile(at(name, 'ca.crt'), 'utf8'), await readFile(at('ca', `${ca}.crt`), 'utf8'));
    for (const file of ['tls.crt', 'tls.key', 'ca.crt'])
      t.is((await stat(at(name, file))).mode & 0o777, 0o400, `${name}/${file}`);
    const certificate = new X509Certificate(await readFile(at(name, 'tls.crt')));
    t.true(certificate.validToDate.getTime() > Date.now() + 390 * 86_400_000);
  }
  const subject = async (name: string) => new X509Certificate(await readFile(at(name, 'tls.crt')));
  t.is((await subject('browser')).subject, 'CN=browser');
  t.is((await subject('server')).checkHost('temporal'), 'temporal');
  t.is((await subject('gateway')).checkHost('gateway'), 'gateway');
  t.is((await subject('client')).checkHost('temporal'), undefined);
});

test('certificates are kept until they expire soon, and all are replaced by --rotate', async (t) => {
  const folder = await makeFolder(t);
  const path = join(folder, 'heavy/tls.crt');
  await ensure(folder);
  t.deepEqual(await ensure(folder), []);

  const read = (name: string) => readFile(join(folder, 'ca', name), 'utf8');
  const issuer = { cert: await read('gateway.crt'), key: await read('gateway.key') };
  await chmod(path, 0o600);
  await writeFile(path, (await issue({ name: 'heavy', days: 100, issuer })).cert);
  t.deepEqual(await ensure(folder), ['heavy']);
  await chmod(path, 0o600);
  await writeFile(path, (await issue({ name: 'heavy', days: 300, issuer: null })).cert);
  t.deepEqual(await ensure(folder), ['heavy'], 'a certificate of another CA');

  t.deepEqual(await ensure('--rotate', folder), OWNERS.toSorted());
  t.not(await read('gateway.crt'), issuer.cert);
  t.deepEqual(await ensure(folder), []);
});
