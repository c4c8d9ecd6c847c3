import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serialize } from 'node:v8';
import test from 'ava';
import { loadWorkflowBundle } from '../workers/bundle.ts';
import { WORKFLOWS } from '../workflows/contract.ts';
import * as workflows from '../workflows/index.ts';

const FOLDERS = [
  'schemas',
  'platform',
  'store',
  'egress',
  'activities',
  'api',
  'workflows',
  'workers',
  'dev',
] as const;
type Room = (typeof FOLDERS)[number];

/** The runner of the tests starts the stacks that they share, and fetches what they need. */
const RUNNER = {
  files: ['dev/test.ts', 'dev/testing/selection.ts'],
  targets: [
    'test/helpers/profiles.ts',
    'test/provision/imports.ts',
    'test/provision/offline.ts',
    'test/provision/provision.ts',
  ],
};
/** The modules from which each module may import, in addition to its own files. */
const MAY_IMPORT: Record<Room, readonly Room[]> = {
  schemas: [],
  platform: ['schemas', 'workflows'],
  store: ['schemas', 'platform'],
  egress: ['schemas', 'platform'],
  // Only the types of the values that activities and workflows exchange; the test about imports of workflows below
  // checks this.
  activities: ['schemas', 'platform', 'store', 'egress', 'workflows'],
  api: ['schemas', 'platform', 'store', 'egress', 'workflows'],
  workflows: ['schemas', 'store'],
  workers: ['schemas', 'platform', 'store', 'egress', 'activities', 'workflows'],
  dev: ['schemas', 'platform', 'store', 'egress', 'activities', 'workflows', 'api', 'workers'],
};
/**
 * Modules that can open connections to other machines. Node also exposes some of their internals as modules such as
 * `_http_client`.
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
/** Connects only to the mail server that the operator configures. */
const MAILER = 'api/mail/mailer.ts';
/** Listens for workers, and connects only to the Temporal server that the operator configures. */
const TEMPORAL_GATE = 'workers/gateway/temporalGate.ts';
/** Files that listen on ports and never connect. */
const LISTENERS = ['api/http/publicServer.ts', 'platform/internalServer.ts', 'platform/listen.ts'];
/** Constants that workflows share with other code; these files have no imports. */
const CONSTANTS = ['schemas/callErrors.ts', 'schemas/webhookLimits.ts'];
/**
 * Names that workflows share with workers and clients. No other file of workflows/ may be imported at run time from
 * outside.
 */
const CONTRACT = 'workflows/contract.ts';
/**
 * These workflow files need exports that only this package has: the base class of the failure converter, and search
 * attribute keys.
 */
const COMMON = { files: ['workflows/failureConverter.ts', CONTRACT], from: '@temporalio/common' };
/** Files that may use a way other than imports to load modules or reach the network, by the name of the way in WAYS. */
const ALLOWED: Record<string, readonly string[]> = {
  // These files connect only to the service's own processes, or run on the machine of the person who chooses the target,
  // such as a browser or a command. They never connect to a target that a caller chooses.
  fetch: [
    'api/calls/fastLane.ts',
    'workers/vaultClient.ts',
    'workers/gatewayClient.ts',
    'workers/metrics.ts',
    'api/cli/eventFeed.ts',
    'api/cli/listen.ts',
    'api/status/statusChecks.ts',
    'api/dashboard/pages/keys/firstCall.js',
    'api/dashboard/pages/settings/passkeys/passkeys.js',
    'api/dashboard/pages/tools/run.js',
    'api/dashboard/frame/palette.js',
    'api/site/scripts/run.js',
    'api/site/scripts/try.js',
  ],
  webSockets: ['api/dashboard/pages/batches/progress.js'],
  // Scripts that run in Chromium change globals of the page; limitBytes.ts and xmpPacket.ts replace built-in ones while they
  // read a PDF.
  globals: [
    'activities/browser/page/consent.ts',
    'activities/browser/page/elements.ts',
    'activities/browser/page/frames.ts',
    'activities/browser/page/lists.ts',
    'activities/browser/page/scrollers.ts',
    'activities/browser/page/printed.ts',
    'activities/browser/page/serviceWorkers.ts',
    'activities/pdf/limitBytes.ts',
    'activities/pdf/xmpPacket.ts',
  ],
  // These files locate data in a package, or load packages that cannot be imported.
  createRequire: ['activities/browser/overlays.ts', 'activities/upscale/reference.ts'],
  // These files import modules of their own folder by the name of a tool or job.
  import: ['activities/runtime/loadTool.ts', 'activities/decoders/child.ts', 'schemas/registry.ts'],
};

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Import {
  file: string;
  module: Room;
  /** The module specifier as it is written in the import. */
  from: string;
  /** Path within the project, or null for packages and built-in modules. */
  target: string | null;
  typesOnly: boolean;
}

/** Import and export statements start at the beginning of a line, because the formatter puts them there. */
const STATEMENT = /^(?:import|export)\s(type\s)?(?:[^;'"]*?\sfrom\s)?'([^']+)'/gm;
const DYNAMIC = /\b(?:import|require)\(\s*'([^']+)'/g;

/** Matches a call with one string literal, which DYNAMIC already reads as an import. */
const LITERAL = /\(\s*'[^']*'\s*\)/.source;
/** Ways to load modules or to open connections that the search for import statements does not find. */
const WAYS: Record<string, RegExp> = {
  fetch: /(?<![.\w'/-])fetch\b(?=\s*(?:[(),;}\].?=]|$))/m,
  webSockets: /\b(?:WebSocket\w*|EventSource|XMLHttpRequest)\b/,
  globals: /\bglobalThis\b|(?<![.\w])global\s*[.[?]/,
  builtins: /\bgetBuiltinModule\b|\b_linkedBinding\b|\bprocess\.binding\b/,
  createRequire: /\bcreateRequire\b/,
  require: new RegExp(`(?<![.\\w])require(?!${LITERAL}|\\.resolve\\b|\\w)\\s*[(.?,;)]`),
  import: new RegExp(`\\bimport(?=\\()(?!${LITERAL})`),
  code: /(?<![.$\w])eval\b|\bnew Function\b/,
};
/**
 * Matches lines that consist of a comment. A line of code cannot start with `*`, because the formatter starts no line
 * with an operator.
 */
const COMMENT = /^\s*(?:\/\/|\/?\*(?!.*\*\/[ \t]*\S)).*$/gm;
const waysIn = (text: string): string[] => {
  const code = text.replace(COMMENT, '');
  return Object.keys(WAYS).filter((name) => WAYS[name]?.test(code));
};

function importsOf(module: Room, file: string): Import[] {
  const text = read(file);
  const found = [
    ...[...text.matchAll(STATEMENT)].map(([, type, from = '']) => ({ from, typesOnly: type !== undefined })),
    ...[...text.matchAll(DYNAMIC)].map(([, from = '']) => ({ from, typesOnly: false })),
  ];
  return found.map((it) => ({
    ...it,
    file,
    module,
    target: it.from.startsWith('.') ? join(dirname(file), it.from) : null,
  }));
}

/** Returns the module to which a path within the project belongs. */
const moduleOf = (path: string): Room | undefined => FOLDERS.find((folder) => path.startsWith(`${folder}/`));

const files = FOLDERS.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.m?[tj]s$/.test(name) && !/(^|\/)\./.test(name))
    .map((name) => `${folder}/${name}`)
    .map((file) => ({ module: moduleOf(file) ?? folder, file })),
);
const imports = files.flatMap(({ module, file }) => importsOf(module, file));
const show = ({ file, from }: Import): string => `${file}: ${from}`;

test('every import of a file is found', (t) => {
  t.true(imports.length > 300);
  // Control: every line that starts an import statement must have led to a found import.
  for (const { module, file } of files) {
    const lines = read(file).match(/^import\s/gm) ?? [];
    const seen = importsOf(module, file).filter(({ from }) => from !== '');
    t.true(seen.length >= lines.length, file);
  }
});

test('modules import only from the modules that they may import', (t) => {
  const wrong = imports.filter(({ file, module, target }) => {
    if (target === null || (RUNNER.files.includes(file) && RUNNER.targets.includes(target))) return false;
    const to = moduleOf(target);
    if (to === undefined) return !target.startsWith('package.json');
    return !(to === module || MAY_IMPORT[module].includes(to));
  });
  t.deepEqual(wrong.map(show), []);
});

test('other modules import only types and the contract of workflows; workflows import only the SDK, each other, types and constants', (t) => {
  const into = imports.filter(
    ({ module, target, typesOnly }) =>
      module !== 'workflows' && target?.startsWith('workflows/') && target !== CONTRACT && !typesOnly,
  );
  t.deepEqual(into.map(show), []);
  const outOf = imports.filter(
    ({ file, module, from, target, typesOnly }) =>
      module === 'workflows' &&
      !typesOnly &&
      !CONSTANTS.includes(target ?? '') &&
      from !== '@temporalio/workflow' &&
      !from.startsWith('./') &&
      !(COMMON.files.includes(file) && from === COMMON.from),
  );
  t.deepEqual(outOf.map(show), []);
  t.deepEqual(imports.filter(({ file }) => CONSTANTS.includes(file)).map(show), []);
});

test('pages of the dashboard build on its frame and components, and only operators see those of operators', (t) => {
  const wrong = imports.filter(
    ({ file, target }) =>
      (/^api\/dashboard\/(?:frame|components)\//.test(file) &&
        /^api\/dashboard\/(?:pages|operator)\//.test(target ?? '')) ||
      (file.startsWith('api/dashboard/pages/') && target?.startsWith('api/dashboard/operator/')),
  );
  t.deepEqual(wrong.map(show), []);
  const components = files.filter(({ file }) => /^api\/dashboard\/components\/.*\.ts$/.test(file));
  t.true(components.length > 10);
  for (const { file } of components) {
    const users = new Set(imports.filter(({ target }) => target === file).map((it) => it.file));
    t.true(users.size >= 3, `${file} belongs to the folder of its page: ${[...users].join(', ')}`);
  }
});

/** Lines of a file that are neither imports nor comments nor empty. */
const ownLines = (file: string): number =>
  read(file)
    .replace(COMMENT, '')
    .replaceAll(/^import\s[^;]*;$/gm, '')
    .split('\n')
    .filter((line) => line.trim() !== '').length;

test('the entry points only list areas, which are made from the core', (t) => {
  const wiring = ['api/app.ts', 'api/server.ts', 'workers/main.ts'];
  const wrong = imports.filter(
    ({ file, target, typesOnly }) =>
      wiring.includes(file) && !typesOnly && /^(?:store|egress|activities|workflows)\//.test(target ?? ''),
  );
  t.deepEqual(wrong.map(show), []);
  for (const file of wiring) t.true(ownLines(file) <= 65, `${file}: ${ownLines(file)} lines`);
  const areas = files.filter(({ file }) => /^api\/.*\/area\.ts$/.test(file));
  t.true(areas.length > 10);
  for (const { file } of areas)
    t.regex(
      read(file),
      /^export (?:async )?(?:function|const) create\w+Area(?: =)?(?: async)? ?\(\s*(?:core|\{[^}]*\}): ApiCore/m,
      file,
    );
  const made = areas
    .map(({ file }) => file)
    .filter((file) => !read('api/app.ts').includes(`'./${file.slice(4)}'`));
  t.deepEqual(made, []);
});

test('files of the store and of the dashboard are in the folder of their subject', (t) => {
  const loose = files.filter(({ file }) =>
    /^(?:store|api\/dashboard\/(?:pages|operator))\/[^/]+$/.test(file),
  );
  t.deepEqual(
    loose.map(({ file }) => file),
    [
      'api/dashboard/operator/paths.ts',
      'api/dashboard/operator/readinessList.ts',
      'api/dashboard/operator/routes.ts',
    ],
  );
  const pages = readdirSync(join(root, 'api/dashboard/pages'));
  t.true(pages.length > 15);
  for (const page of pages)
    t.true(
      files.some(({ file }) => file === `api/dashboard/pages/${page}/routes.ts`),
      page,
    );
});

test('the picture of the rooms shows each subject of the API and of the store', (t) => {
  const picture = read('docs/architecture.md');
  for (const room of ['api', 'store']) {
    const [, subjects = ''] = new RegExp(`subgraph ${room} [^]*?LR\\n([^]*?)\\n  end`).exec(picture) ?? [];
    const shown = subjects
      .trim()
      .split(' ~~~ ')
      .map((node) => /"(.+)"/.exec(node)?.[1] ?? node);
    const folders = readdirSync(join(root, room), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    t.deepEqual(shown.sort(), folders.map(({ name }) => name).sort(), room);
  }
});

test('the contract names exactly the workflows that the bundle exports', (t) => {
  const names = Object.keys(workflows).sort();
  t.deepEqual(Object.keys(WORKFLOWS).sort(), names);
  t.deepEqual(Object.values<string>(WORKFLOWS).sort(), names);
});

test("at run time, the schemas import nothing from outside their folder except Node's modules", (t) => {
  const wrong = imports.filter(
    ({ module, from, target, typesOnly }) =>
      module === 'schemas' &&
      !typesOnly &&
      (target === null ? !isBuiltin(from) : !target.startsWith('schemas/')),
  );
  t.deepEqual(wrong.map(show), []);
});

test('only egress/ connects to other machines', (t) => {
  const wrong = imports.filter(
    ({ file, module, from, typesOnly }) =>
      ['activities', 'store', 'workflows', 'api', 'workers', 'platform'].includes(module) &&
      !typesOnly &&
      NETWORK.includes(from.replace(/^node:/, '')) &&
      !LISTENERS.includes(file) &&
      file !== TEMPORAL_GATE &&
      file !== MAILER,
  );
  t.deepEqual(wrong.map(show), []);
  const others = files
    .filter(({ module }) => module !== 'egress' && module !== 'dev')
    .flatMap(({ file }) =>
      waysIn(read(file)).flatMap((way) => (ALLOWED[way]?.includes(file) ? [] : [`${file}: ${way}`])),
    );
  t.deepEqual(others, []);
  for (const [way, allowed] of Object.entries(ALLOWED))
    for (const file of allowed) t.true(waysIn(read(file)).includes(way), `${file}: ${way}`);
});

test('certificates of other machines are read without the parameters of their keys', (t) => {
  // Node.js 24 ends the process when it reads those of some curves. Clients of the gate have keys that the operator made.
  const reading = files.filter(({ file }) => /\b(?:getPeerCertificate|toLegacyObject)\b\(/.test(read(file)));
  t.deepEqual(
    reading.map(({ file }) => file),
    ['workers/gateway/temporalGate.ts'],
  );
});

/** Files of the TypeScript client that need Node; the others run in browsers too. */
const NODE_CLIENT = /^clients\/typescript\/src\/(?:node\.ts$|cli\/)/;

test('the clients import nothing but their own files, and Node only where they say so', (t) => {
  const folder = 'clients/typescript/src';
  const own = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name));
  t.true(own.length > 10);
  const wrong = own
    .flatMap((file) =>
      [...read(file).matchAll(STATEMENT), ...read(file).matchAll(DYNAMIC)].map((match) => ({
        file,
        from: match.at(-1) ?? '',
      })),
    )
    .filter(({ file, from }) =>
      from.startsWith('.')
        ? !join(dirname(file), from).startsWith(`${folder}/`)
        : !(isBuiltin(from) && NODE_CLIENT.test(file)),
    );
  t.deepEqual(wrong, []);
  const core = own.filter((file) => !NODE_CLIENT.test(file));
  t.deepEqual(
    core.filter((file) => /\bprocess\.|\bBuffer\./.test(read(file).replace(COMMENT, ''))),
    [],
  );
});

test('no spelling of a way to a socket is missed', (t) => {
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
  for (const [way, text] of caught) t.true(waysIn(text).includes(way), text);
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
    t.deepEqual(waysIn(text), [], text);
  const literals = [...`require('node:net'); await import( 'node:tls')`.matchAll(DYNAMIC)];
  t.deepEqual(
    literals.map(([, from]) => from),
    ['node:net', 'node:tls'],
  );
});

test('only schemas/env.ts reads the environment', (t) => {
  const reading = files.filter(
    ({ module, file }) =>
      module !== 'dev' &&
      file !== 'schemas/env.ts' &&
      /process\.env|\benv\b.*from 'node:process'/.test(read(file)),
  );
  t.deepEqual(
    reading.map(({ file }) => file),
    [],
  );
});

test('only store/webhooks/events.ts stores events, because it also starts their dispatch', (t) => {
  const writes = [
    /\bevents\s*\.\s*(?:insert|update(?!Many)|replace|findOneAnd|bulkWrite|initialize)/,
    /\binsertAllOnce\(\s*(?:\w+\.)*events\b/,
    /\bcollection(?:<\w+>)?\(\s*'events'/,
  ];
  const writing = files.filter(({ file }) => writes.some((it) => it.test(read(file).replace(COMMENT, ''))));
  t.deepEqual(
    writing.map(({ file }) => file),
    // The first declares the collection.
    ['store/mongo/mongo.ts', 'store/webhooks/events.ts'],
  );
});

test('the workflow bundle, which every worker compiles at its start, stays small', async (t) => {
  const { code } = await loadWorkflowBundle((error) => t.log(error));
  const withoutMap = code.replace(/^\/\/# sourceMappingURL=.*$/m, '');
  t.true(withoutMap.length > 10_000);
  t.true(Buffer.byteLength(withoutMap) <= 635_000, `${Buffer.byteLength(withoutMap)} bytes`);
  // V8 serializes a string as it stores it.
  t.true(serialize(code).length < 1.1 * code.length, 'V8 stores it with two bytes per character');
});

/**
 * Packages whose internals the code uses, in `api/auth/userRecords.ts`, `activities/browser/pool.ts` and
 * `activities/pdf/limitBytes.ts`.
 */
const PINNED = ['better-auth', '@better-auth/mongo-adapter', 'puppeteer-cluster', 'pdfjs-dist', 'pdf-lib'];

test('packages whose internals are used are pinned to an exact version', (t) => {
  const { dependencies }: { dependencies: Record<string, string> } = JSON.parse(read('package.json'));
  for (const name of PINNED) t.regex(dependencies[name] ?? '', /^\d+\.\d+\.\d+$/, name);
  // Ajv documents this path of its draft 2020-12, and Highlight.js those of its core and its languages.
  const deep = imports.filter(
    ({ from }) =>
      /^(?:@[^/]+\/)?[^@./][^/]*\/(?:dist|lib|src)\//.test(from) &&
      from !== 'ajv/dist/2020.js' &&
      !/^highlight\.js\/lib\/(?:core$|languages\/)/.test(from),
  );
  t.deepEqual(deep.filter(({ from }) => !PINNED.some((name) => from.startsWith(`${name}/`))).map(show), []);
  const reaching = files.filter(({ file }) => /\binternalAdapter\b/.test(read(file)));
  t.deepEqual(
    reaching.map(({ file }) => file),
    ['api/auth/userRecords.ts'],
  );
});
