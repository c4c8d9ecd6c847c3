import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { loadWorkflowBundle } from '../workers/bundle.ts';

const AREAS = ['schemas', 'store', 'egress', 'activities', 'api', 'workflows', 'workers', 'dev'] as const;
type Area = (typeof AREAS)[number];

/** The areas that an area may import, besides itself. */
const MAY_IMPORT: Record<Area, readonly Area[]> = {
  schemas: [],
  store: ['schemas'],
  egress: ['schemas'],
  // Only the types of what is passed between them; see below.
  activities: ['schemas', 'store', 'egress', 'workflows'],
  api: ['schemas', 'store', 'egress', 'workflows'],
  workflows: ['schemas', 'store'],
  workers: ['schemas', 'store', 'egress', 'activities', 'workflows', 'api'],
  dev: ['schemas', 'store', 'egress', 'activities', 'workflows', 'api', 'workers'],
};
/** Composition roots. */
const COMPOSITION_ROOTS = /^api\/(server\.ts|cli\/)/;
/**
 * Modules that can reach other machines; Node still exposes the internals of some under names of their own.
 */
const NETWORK = [
  'net',
  'tls',
  'dgram',
  'dns',
  'dns/promises',
  'http',
  'https',
  'http2',
  '_http_agent',
  '_http_client',
  '_tls_wrap',
  'undici',
  'nodemailer',
];
/** Connects to the mail server that the operator configures. */
const MAILER = 'api/mailer.ts';
/** Listen only, without connecting. */
const LISTENERS = ['api/server.ts', 'api/internal.ts', 'api/listen.ts'];
/** Numbers that workflows share with other areas; it imports nothing. */
const CONSTANTS = 'schemas/webhookLimits.ts';
/**
 * The SDK loads the failure converter from a file of its own, and only this package exports its base class.
 */
const CONVERTER = { file: 'workflows/failureConverter.ts', from: '@temporalio/common' };
/** Other ways to access modules and the network, and where they are allowed. */
const ALLOWED: Record<string, readonly string[]> = {
  // Reach the service's own processes, or run on the machine of the user who names the URL: never a caller's
  // target.
  fetch: ['workers/vaultClient.ts', 'workers/metrics.ts', 'api/cli/eventFeed.ts', 'api/cli/listen.ts'],
  // In the page's own realm, and a built-in class while a PDF is read.
  globals: [
    'activities/browser/page/consent.ts',
    'activities/browser/page/serviceWorkers.ts',
    'activities/pdf/ceiling.ts',
  ],
  // Locate files within packages, and load packages that cannot be imported.
  createRequire: [
    'activities/browser/overlays.ts',
    'activities/upscale/network.ts',
    'activities/upscale/reference.ts',
  ],
  // Files of their own folder, by the names of tools and jobs.
  import: ['activities/load.ts', 'activities/thread.ts', 'schemas/registry.ts'],
};

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Import {
  file: string;
  area: Area;
  /** As written. */
  from: string;
  /** Path within the project, or null for packages and built-in modules. */
  target: string | null;
  typesOnly: boolean;
}

/** Statements start at the beginning of a line, which the formatter ensures. */
const STATEMENT = /^(?:import|export)\s(type\s)?(?:[^;'"]*?\sfrom\s)?'([^']+)'/gm;
const DYNAMIC = /\b(?:import|require)\(\s*'([^']+)'/g;

/** A plain literal, which is read as an import. */
const LITERAL = /\(\s*'[^']*'\s*\)/.source;
/** Ways to a socket, or to an arbitrary module, besides the imports that are read here. */
const BYPASSES: Record<string, RegExp> = {
  fetch: /(?<![.\w'/-])fetch\b(?=\s*(?:[(),;}\].?=]|$))/m,
  webSockets: /\b(?:WebSocket\w*|EventSource|XMLHttpRequest)\b/,
  globals: /\bglobalThis\b|(?<![.\w])global\s*[.[?]/,
  builtins: /\bgetBuiltinModule\b|\b_linkedBinding\b|\bprocess\.binding\b/,
  createRequire: /\bcreateRequire\b/,
  require: new RegExp(`(?<![.\\w])require(?!${LITERAL}|\\.resolve\\b|\\w)\\s*[(.?,;)]`),
  import: new RegExp(`\\bimport(?=\\()(?!${LITERAL})`),
  code: /(?<![.$\w])eval\b|\bnew Function\b/,
};
/** Lines with only comments; the formatter puts no operator at the start of a line. */
const COMMENT = /^\s*(?:\/\/|\/?\*(?!.*\*\/\s*\S)).*$/gm;
const bypassesIn = (text: string): string[] => {
  const code = text.replace(COMMENT, '');
  return Object.keys(BYPASSES).filter((name) => BYPASSES[name]?.test(code));
};

function importsOf(area: Area, file: string): Import[] {
  const text = read(file);
  const found = [
    ...[...text.matchAll(STATEMENT)].map(([, type, from = '']) => ({ from, typesOnly: type !== undefined })),
    ...[...text.matchAll(DYNAMIC)].map(([, from = '']) => ({ from, typesOnly: false })),
  ];
  return found.map((it) => ({
    ...it,
    file,
    area,
    target: it.from.startsWith('.') ? join(dirname(file), it.from) : null,
  }));
}

const files = AREAS.flatMap((area) =>
  readdirSync(join(root, area), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.m?[tj]s$/.test(name) && !/(^|\/)\./.test(name))
    .map((name) => ({ area, file: `${area}/${name}` })),
);
const imports = files.flatMap(({ area, file }) => importsOf(area, file));
const show = ({ file, from }: Import): string => `${file}: ${from}`;
const areaOf = (target: string): Area | undefined => AREAS.find((area) => target.startsWith(`${area}/`));

test('every import of a file is found', (t) => {
  t.true(imports.length > 300);
  // Each line that begins with an import was read.
  for (const { area, file } of files) {
    const lines = read(file).match(/^import\s/gm) ?? [];
    const seen = importsOf(area, file).filter(({ from }) => from !== '');
    t.true(seen.length >= lines.length, file);
  }
});

test('areas import each other in one direction', (t) => {
  const wrong = imports.filter(({ file, area, target }) => {
    if (target === null) return false;
    const to = areaOf(target);
    if (to === undefined) return !target.startsWith('package.json');
    if (to === area || MAY_IMPORT[area].includes(to)) return false;
    return !(to === 'workers' && COMPOSITION_ROOTS.test(file));
  });
  t.deepEqual(wrong.map(show), []);
});

test('workflows export types only, and import only the SDK, each other, types and numbers', (t) => {
  const into = imports.filter(
    ({ area, target, typesOnly }) =>
      (area === 'api' || area === 'activities') && target?.startsWith('workflows/') && !typesOnly,
  );
  t.deepEqual(into.map(show), []);
  const outOf = imports.filter(
    ({ file, area, from, target, typesOnly }) =>
      area === 'workflows' &&
      !typesOnly &&
      target !== CONSTANTS &&
      from !== '@temporalio/workflow' &&
      !from.startsWith('./') &&
      !(file === CONVERTER.file && from === CONVERTER.from),
  );
  t.deepEqual(outOf.map(show), []);
  t.deepEqual(imports.filter(({ file }) => file === CONSTANTS).map(show), []);
});

test('the schemas import only Node and types from outside their folder', (t) => {
  const wrong = imports.filter(
    ({ area, from, target, typesOnly }) =>
      area === 'schemas' &&
      !typesOnly &&
      (target === null ? !isBuiltin(from) : !target.startsWith('schemas/')),
  );
  t.deepEqual(wrong.map(show), []);
});

test('only egress/ reaches other machines', (t) => {
  const wrong = imports.filter(
    ({ file, area, from, typesOnly }) =>
      ['activities', 'store', 'workflows', 'api', 'workers'].includes(area) &&
      !typesOnly &&
      NETWORK.includes(from.replace(/^node:/, '')) &&
      !LISTENERS.includes(file) &&
      file !== MAILER,
  );
  t.deepEqual(wrong.map(show), []);
  const others = files
    .filter(({ area }) => area !== 'egress' && area !== 'dev')
    .flatMap(({ file }) =>
      bypassesIn(read(file)).flatMap((bypass) =>
        ALLOWED[bypass]?.includes(file) ? [] : [`${file}: ${bypass}`],
      ),
    );
  t.deepEqual(others, []);
  for (const [bypass, allowed] of Object.entries(ALLOWED))
    for (const file of allowed) t.true(bypassesIn(read(file)).includes(bypass), `${file}: ${bypass}`);
});

test('every spelling of a way to a socket is detected', (t) => {
  const caught: [string, string][] = [
    ['fetch', 'const a = await fetch(url);'],
    ['fetch', 'const get = fetch;'],
    ['fetch', 'run(fetch, url);'],
    ['fetch', 'fetch?.(url)'],
    ['fetch', "const url = 'http://a'; fetch(url);"],
    ['fetch', '/** Asks. */ fetch(url);'],
    ['globals', 'globalThis.fetch(url)'],
    ['globals', "globalThis['fet' + 'ch'](url)"],
    ['globals', 'const { fetch: get } = globalThis;'],
    ['globals', 'global.fetch(url)'],
    ['webSockets', 'new WebSocket(url)'],
    ['webSockets', 'const Socket = WebSocket;'],
    ['webSockets', 'new WebSocketStream(url)'],
    ['webSockets', 'new EventSource(url)'],
    ['import', 'await import(`node:net`)'],
    ['import', "await import('node:' + 'net')"],
    ['import', 'await import(\n  name\n)'],
    ['builtins', "process.getBuiltinModule('node:net')"],
    ['builtins', "import { getBuiltinModule } from 'node:process';"],
    ['builtins', "process.binding('tcp_wrap')"],
    ['createRequire', "import { createRequire } from 'node:module';"],
    ['createRequire', "module.createRequire(import.meta.url)('node:net')"],
    ['require', 'require(`node:net`)'],
    ['require', "require('node:' + 'net')"],
    ['code', 'new Function(text)'],
    ['code', "eval('fetch')"],
  ];
  for (const [bypass, text] of caught) t.true(bypassesIn(text).includes(bypass), text);
  for (const text of [
    'using response = await egress.fetch(target, options);',
    "import { fetchFollowing } from './fetch.ts';",
    "headers.get('sec-fetch-site')",
    "const { decodeBmp } = await import('../images/decodeBmp.ts');",
    "  fetch: 'xhr',",
    '// What fetch() would do.',
    ' * Never fetch(url) here, nor new WebSocket(url).',
    '/** As globalThis.fetch does. */',
  ])
    t.deepEqual(bypassesIn(text), [], text);
  const literals = [...`require('node:net'); await import( 'node:tls')`.matchAll(DYNAMIC)];
  t.deepEqual(
    literals.map(([, from]) => from),
    ['node:net', 'node:tls'],
  );
});

test('only schemas/env.ts reads the environment', (t) => {
  const reading = files.filter(
    ({ area, file }) =>
      area !== 'dev' &&
      file !== 'schemas/env.ts' &&
      /process\.env|\benv\b.*from 'node:process'/.test(read(file)),
  );
  t.deepEqual(
    reading.map(({ file }) => file),
    [],
  );
});

test('the workflow bundle stays small, because every worker compiles it at its start', async (t) => {
  const { code } = await loadWorkflowBundle((error) => t.log(error));
  const withoutMap = code.replace(/^\/\/# sourceMappingURL=.*$/m, '');
  t.true(withoutMap.length > 10_000);
  t.true(Buffer.byteLength(withoutMap) <= 600_000, `${Buffer.byteLength(withoutMap)} bytes`);
});
