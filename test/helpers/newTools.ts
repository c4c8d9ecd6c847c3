/** A tool for a test to add to the project; there is one of each kind. */
interface NewTool {
  name: string;
  price: number;
  title: string;
  /** The contents of all files that the tool consists of, by path. */
  files: Readonly<Record<string, string>>;
}

/** Returns the source of a tool definition whose input and output have one field each. */
const definition = (
  { name, title, price }: Omit<NewTool, 'files'>,
  lines: { imports?: string; kind: string; input: string; required: string; output: string; rest: string },
): string => `${lines.imports ?? ''}import { defineTool } from '../tool.ts';

export default defineTool({
  name: '${name}',
  title: '${title}',
  description: '${title}.',
  price: ${price},
  ${lines.kind}
  limits: { workMs: 10_000 },
  input: {
    type: 'object',
    properties: { ${lines.input} },
    required: ['${lines.required}'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    ${lines.output}
    additionalProperties: false,
  },
  ${lines.rest}
});
`;

const TYPES = (name: string): string => `import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/${name}.ts';
`;

const testOf = (name: string, body: string): string => `import test from 'ava';
import { loadTool } from '../helpers/tool.ts';
${body.replace('LOAD', `await loadTool('${name}')`)}`;

const TEXT = `text: { type: 'string', maxLength: 1000, description: 'Text.' }`;
const FILE_IMPORTS = `import { checkSourceUrl, FILE_ERRORS, PAGE_ERRORS, sourceUrl } from '../formats/sourceUrl.ts';
`;

/** A tool that only computes and runs in a worker thread. */
const plain = { name: 'reverse-text', title: 'Reverse text', price: 4 };
/** A tool that decodes a file of the caller in a child process. */
const picture = { name: 'image-size', title: 'Image size', price: 2 };
/** A tool that connects to a host that the caller names. */
const network = { name: 'site-status', title: 'Site status', price: 3 };
/** A tool that runs a program in a sandbox that stays prepared between calls. */
const program = { name: 'word-count', title: 'Word count', price: 5 };

export const NEW_TOOLS = {
  plain: {
    ...plain,
    files: {
      'schemas/tools/reverse-text.ts': definition(plain, {
        kind: `pool: 'cpu',`,
        input: TEXT,
        required: 'text',
        output: `properties: { text: { type: 'string', description: 'The same, reversed.' } },
    required: ['text'],`,
        rest: `examples: [{ input: { text: 'abc' }, output: { text: 'cba' } }],
  errors: [],`,
      }),
      'activities/tools/reverse-text.ts': `${TYPES(plain.name)}
export async function run({ text }: ToolInput<typeof definition>): Promise<ToolOutput<typeof definition>> {
  return { text: [...text].reverse().join('') };
}
`,
      'test/tools/reverse-text.test.ts': testOf(
        plain.name,
        `
test('reverses by characters', async (t) => {
  const tool = LOAD;
  t.deepEqual(await tool.call({ text: 'a😀b' }), { text: 'b😀a' });
});
`,
      ),
    },
  },
  picture: {
    ...picture,
    files: {
      'schemas/tools/image-size.ts': definition(picture, {
        imports: FILE_IMPORTS.replace(' PAGE_ERRORS,', ''),
        kind: `pool: 'cpu',\n  thread: false,`,
        input: `fileUrl: sourceUrl('an image')`,
        required: 'fileUrl',
        output: `properties: {
      width: { type: 'integer', description: 'Pixels.' },
      height: { type: 'integer', description: 'Pixels.' },
    },
    required: ['width', 'height'],`,
        rest: `check: ({ fileUrl }) => checkSourceUrl('/fileUrl', fileUrl),
  examples: [{ input: { fileUrl: 'https://example.com/sail.png' }, output: { width: 16, height: 12 } }],
  errors: FILE_ERRORS,`,
      }),
      'activities/tools/image-size.ts': `${TYPES(picture.name)}import { readSourceFile } from '../download/sourceFile.ts';
import type measureImage from '../jobs/measure-image.ts';
import type { NetworkContext } from '../runtime/context.ts';

export async function run(
  { fileUrl }: ToolInput<typeof definition>,
  { egress, file, offload, ...limits }: NetworkContext,
): Promise<ToolOutput<typeof definition>> {
  const { bytes } = await readSourceFile({ egress, file }, fileUrl, { ...limits, maxBytes: 1_000_000 });
  return offload<typeof measureImage>('measure-image', bytes, limits);
}
`,
      'activities/jobs/measure-image.ts': `import sharp from 'sharp';
import { ServiceError } from '../../schemas/errors.ts';

export default async function measureImage(bytes: Uint8Array): Promise<{ width: number; height: number }> {
  try {
    const { width, height } = await sharp(bytes).metadata();
    return { width, height };
  } catch (cause) {
    throw new ServiceError('unsupported_source', { cause });
  }
}
`,
      'test/tools/image-size.test.ts': testOf(
        picture.name,
        `import { createDecoders } from '../../activities/decoders/pool.ts';
import type measureImage from '../../activities/jobs/measure-image.ts';
import { codeOf, soon } from '../helpers/egress.ts';

test('other files are refused', async (t) => {
  const { definition } = LOAD;
  t.true(definition.errors.includes('unsupported_source'));
  const decoders = createDecoders({ memoryBytes: 2 ** 30, log: () => undefined });
  t.teardown(() => decoders.close());
  const job = decoders.offload<typeof measureImage>('measure-image', Buffer.from('text'), soon());
  t.is(await codeOf(() => job), 'unsupported_source');
});
`,
      ),
    },
  },
  network: {
    ...network,
    files: {
      'schemas/tools/site-status.ts': definition(network, {
        imports: FILE_IMPORTS.replace(' FILE_ERRORS,', ''),
        kind: `pool: 'network',`,
        input: `url: sourceUrl('the site')`,
        required: 'url',
        output: `properties: { status: { type: 'integer', description: 'HTTP status.' } },
    required: ['status'],`,
        rest: `check: ({ url }) => checkSourceUrl('/url', url),
  examples: [{ input: { url: 'https://example.com/' }, output: { status: 200 } }],
  errors: PAGE_ERRORS,`,
      }),
      'activities/tools/site-status.ts': `${TYPES(network.name)}import type { NetworkContext } from '../runtime/context.ts';

export async function run(
  { url }: ToolInput<typeof definition>,
  { egress, signal, deadline }: NetworkContext,
): Promise<ToolOutput<typeof definition>> {
  const target = egress.parseTarget(url, { kind: 'url', pointer: '/url' });
  using response = await egress.fetch(target, { maxBytes: 1_000_000, signal, deadline });
  return { status: response.status };
}
`,
      'test/tools/site-status.test.ts': testOf(
        network.name,
        `import { faultsOf } from '../helpers/tool.ts';

test('other schemes are refused', async (t) => {
  const [fault] = await faultsOf(LOAD, { url: 'ftp://example.com/' });
  t.is(fault?.pointer, '/url');
});
`,
      ),
    },
  },
  program: {
    ...program,
    files: {
      'schemas/tools/word-count.ts': definition(program, {
        kind: `pool: 'cpu',\n  thread: false,`,
        input: TEXT,
        required: 'text',
        output: `properties: { words: { type: 'integer', description: 'Number of words.' } },
    required: ['words'],`,
        rest: `examples: [{ input: { text: 'to be' }, output: { words: 2 } }],
  errors: ['tool_unavailable'],`,
      }),
      'activities/tools/word-count.ts': `import { text as readText } from 'node:stream/consumers';
${TYPES(program.name)}import type { ToolContext } from '../runtime/context.ts';
import type { Resource } from '../runtime/resource.ts';
import { openSandbox, type Sandbox } from '../runtime/sandbox.ts';

const limits = {
  memoryBytes: 2 ** 28,
  cpuSeconds: 5,
  fileBytes: 2 ** 20,
  scratchBytes: 2 ** 20,
  openFiles: 64,
  processes: 64,
};

export const resource: Resource<Sandbox & AsyncDisposable> = {
  name: 'the sandbox of wc',
  open: async () => ({ ...(await openSandbox()), async [Symbol.asyncDispose]() {} }),
};

export async function run(
  { text }: ToolInput<typeof definition>,
  { resource: sandbox, signal }: ToolContext & { resource: Sandbox },
): Promise<ToolOutput<typeof definition>> {
  const counting = sandbox.start({ script: 'wc -w', args: [], folders: [], limits });
  signal.addEventListener('abort', counting.kill, { once: true });
  try {
    counting.stdin.end(text);
    return { words: Number(await readText(counting.stdout)) };
  } finally {
    signal.removeEventListener('abort', counting.kill);
    counting.kill();
  }
}
`,
      'test/tools/word-count.test.ts': testOf(
        program.name,
        `import { resource } from '../../activities/tools/word-count.ts';
import { readEnv } from '../../schemas/env.ts';

test('counts words', async (t) => {
  const tool = LOAD;
  await using sandbox = await resource.open({ env: readEnv({}), log: () => undefined });
  t.deepEqual(await tool.call({ text: 'one two  three' }, { resource: sandbox }), { words: 3 });
});
`,
      ),
    },
  },
} as const satisfies Record<string, NewTool>;
