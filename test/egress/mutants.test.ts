import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import { createClassifier, createSecondClassifier } from '../../egress/classify.ts';
import { createGuard } from '../../egress/guard.ts';
import { createPolicy } from '../../egress/policy.ts';
import { RANGES, REFUSED_SPANS } from '../../egress/ranges.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { soon } from '../helpers/egress.ts';
import { SSRF_CASES } from '../helpers/ssrf.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Exceptions of the guard; EXTRA has URLs that depend on them and are not in the case file. */
const ALLOW = ['127.0.0.1:81', '127.0.0.1:8080', '127.0.0.0/8', '::ffff:0:0/96', '169.254.0.0/16'].map(
  parseAllow,
);
const EXTRA = [
  'http://127.0.0.1:81/',
  'http://127.0.0.2:82/',
  'http://127.0.0.1:8080/',
  'http://127.0.0.2:8080/',
  'http://169.254.1.1:8080/',
  'http://169.254.169.254:81/',
  'http://[::ffff:127.0.0.1]:81/',
  'http://a.localdomain/',
  'http://a.localdomain6/',
  'http://-a.example.com/',
];
const CASES = [
  ...SSRF_CASES.filter(({ kind }) => kind !== 'redirect'),
  { kind: 'dns', input: 'a.example.com|CNAME:db.internal,A:93.184.215.14' },
];

/**
 * Mutants, each with one check removed or weakened: a description, the file, the replaced text, and its replacement.
 */
const MUTANTS: [what: string, file: string, from: string, to: string][] = [
  ['schemes', 'schemas/formats/url.ts', "url.protocol !== 'https:'", 'false'],
  ['user', 'schemas/formats/url.ts', 'hasUserinfo(text, base)', 'false'],
  [
    'host of a URL',
    'schemas/formats/hostname.ts',
    "!host.name.split('.').every((label) => LABEL.test(label))",
    'false',
  ],
  ['leading hyphen', 'schemas/formats/hostname.ts', "name.startsWith('-')", 'false'],
  ['characters', 'schemas/formats/hostname.ts', 'NEVER_IN_A_HOST.test(text)', 'false'],
  ['labels', 'schemas/formats/hostname.ts', '{1,63}', '{1,64}'],
  ['single labels', 'schemas/formats/hostname.ts', "!name.includes('.') ||", ''],
  ...[
    ...['internal', 'local', 'localhost', 'localdomain', 'localdomain6', 'home.arpa'],
    ...['corp', 'home', 'intranet', 'lan', 'private', 'onion'],
  ].map((suffix): [string, string, string, string] => [
    suffix,
    'schemas/formats/hostname.ts',
    `'${suffix}'`,
    "'none'",
  ]),
  ['bad ports', 'egress/target.ts', 'BAD_PORTS.has(port)', 'false'],
  ['bad port 22', 'egress/ports.ts', ' 22,', ''],
  ['internal names', 'egress/target.ts', 'isInternalName(host.name)', 'false'],
  ['aliases', 'egress/vet.ts', 'found.chain.find(isInternalName)', 'undefined'],
  ['every address', 'egress/vet.ts', 'addresses.find(', 'addresses.slice(0, 1).find('],
  ['addresses', 'egress/vet.ts', '!policy.permits(', '!Boolean('],
  ['no address', 'egress/vet.ts', 'addresses.length === 0', 'false'],
  ['never', 'egress/policy.ts', 'never.some((block) => isWithin(address, block))', 'false'],
  ['own ports', 'egress/policy.ts', 'own && ownPorts.includes(port)', 'false'],
  ['own ports in a block', 'egress/policy.ts', '!ownPorts.includes(port)', 'true'],
  ['exceptions', 'egress/policy.ts', 'isWithin(address, entry.block)', 'false'],
  ['classifiers', 'egress/policy.ts', 'classifiers.every(', '((_: unknown) => true)('],
];

/** Returns the guard's verdict on each case, in order. */
async function verdicts(create: typeof createGuard): Promise<string[]> {
  let answer = { addresses: ['93.184.215.14'], chain: [''] };
  const guard = create({
    resolver: { addresses: async () => answer },
    allow: ALLOW,
    ownPorts: [8080],
  });
  const open = create({ resolver: { addresses: async () => answer }, ownPorts: [8080] });
  const verdict = async (
    { parseTarget, vet }: typeof guard,
    input: string,
    kind: string,
  ): Promise<string> => {
    try {
      const target = parseTarget(
        input,
        kind === 'host' ? { kind, port: 25, pointer: '/host' } : { kind: 'url', pointer: '/url' },
      );
      const { addresses } = await vet(target, soon());
      return addresses.join();
    } catch (error) {
      return error instanceof Error && 'code' in error ? String(error.code) : 'an error';
    }
  };
  const results: string[] = [];
  for (const { input, kind } of CASES) {
    const [host = '', records = ''] = kind === 'dns' ? input.split('|') : [];
    const of = (type: RegExp) => records.split(',').flatMap((record) => type.exec(record)?.[1] ?? []);
    answer =
      kind === 'dns'
        ? { addresses: of(/^A+:(.*)$/), chain: of(/^CNAME:(.*)$/) }
        : { addresses: ['93.184.215.14'], chain: [] };
    results.push(await verdict(open, kind === 'dns' ? `http://${host}/` : input, kind));
  }
  for (const url of EXTRA) results.push(await verdict(guard, url, 'url'));
  return results;
}

test('removing or weakening any check changes at least one verdict', async (t) => {
  const expected = await verdicts(createGuard);
  const folder = await mkdtemp(join(tmpdir(), 'mutants-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const survivors: string[] = [];
  for (const [index, [what, file, from, to]] of MUTANTS.entries()) {
    const copy = join(folder, `${index}`);
    for (const part of ['egress', 'platform', 'schemas', 'package.json'])
      await cp(join(ROOT, part), join(copy, part), { recursive: true });
    const source = await readFile(join(copy, file), 'utf8');
    t.is(source.split(from).length, 2, `${what}: the text occurs once`);
    await writeFile(
      join(copy, file),
      source.replace(from, () => to),
    );
    const mutant: { createGuard: typeof createGuard } = await import(
      pathToFileURL(join(copy, 'egress/guard.ts')).href
    );
    if (isDeepStrictEqual(await verdicts(mutant.createGuard), expected)) survivors.push(what);
  }
  t.deepEqual(survivors, []);
});

test('each of the two classifiers suffices alone', (t) => {
  const yes = (): boolean => true;
  const first = createClassifier(RANGES);
  const second = createSecondClassifier(REFUSED_SPANS);
  const permits = (classifiers: (typeof first)[], address: string): boolean =>
    createPolicy({ allow: [], ownPorts: [], isOwn: () => false, classifiers }).permits(address, 80, {
      kind: 'name',
      name: 'a.example.com',
    });
  for (const address of ['10.0.0.1', '::1', '2001:db8::1', '224.0.0.1']) {
    t.false(permits([yes, second], address), address);
    t.false(permits([first, yes], address), address);
  }
  t.true(permits([yes, yes], '10.0.0.1'));
});
