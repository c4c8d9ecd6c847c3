import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, type WorkflowBundle } from '@temporalio/worker';

const root = fileURLToPath(new URL('..', import.meta.url));
const workflows = join(root, 'workflows');
/** The only files of this project outside `workflows/` that the workflow bundle contains. */
const CONSTANTS = ['callErrors.ts', 'webhookLimits.ts'].map((name) => join(root, 'schemas', name));

/** Modules that the SDK executes once for all workflows. They must be stateless, unlike `@temporalio/workflow`. */
const PRELOAD = ['@temporalio/common', 'nexus-rpc'];
const ENCODING = 'latin1';

/** Returns a hash of all inputs of the workflow bundle. Bundling takes seconds, so the bundle is cached under this hash. */
function fingerprint(): string {
  const hash = createHash('sha256').update(`${PRELOAD.join()} ${ENCODING}`);
  for (const file of readdirSync(workflows).sort())
    hash.update(file).update(readFileSync(join(workflows, file)));
  for (const file of CONSTANTS) hash.update(readFileSync(file));
  return hash
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
    .slice(0, 16);
}

function writeAtomically(path: string, code: Buffer): void {
  const draft = `${path}.${process.pid}`;
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(draft, code);
  renameSync(draft, path);
}

/**
 * Encodes the script in Latin-1, and escapes the few other characters, which only comments and string literals contain. V8 stores
 * what is decoded from Latin-1 with one byte per character instead of two, and a worker holds several copies of the script.
 */
const encode = (script: string): Buffer =>
  Buffer.from(
    script.replace(
      /[\u0100-\uffff]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
    ENCODING,
  );

/** Returns the workflows bundled as one script, from the cache if no input changed. */
export async function loadWorkflowBundle(onCacheError: (error: unknown) => void): Promise<WorkflowBundle> {
  const path = join(root, 'node_modules', '.cache', 'workflows', `${fingerprint()}.js`);
  try {
    return { code: readFileSync(path, ENCODING) };
  } catch {
    // The bundle is not in the cache.
  }
  const bundle = await bundleWorkflowCode({
    workflowsPath: join(workflows, 'index.ts'),
    workflowInterceptorModules: [join(workflows, 'tracing.ts')],
    failureConverterPath: join(workflows, 'failureConverter.ts'),
    preloadModules: PRELOAD,
    // Otherwise webpack's list of modules appears in the output of a first start.
    logger: new DefaultLogger('WARN'),
  });
  const code = encode(bundle.code);
  try {
    writeAtomically(path, code);
  } catch (error) {
    onCacheError(error); // On a read-only file system, the workflows are bundled at every start.
  }
  return { code: code.toString(ENCODING) };
}
