import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type WorkflowBundle } from '@temporalio/worker';

const root = fileURLToPath(new URL('..', import.meta.url));
const workflows = join(root, 'workflows');
/** What is bundled with them. */
const CONSTANTS = join(root, 'schemas', 'webhookLimits.ts');

/**
 * Run once instead of once a workflow, frozen and shared: what in the SDK keeps no state. (`@temporalio/workflow` does.)
 */
const PRELOAD = ['@temporalio/common', 'nexus-rpc'];

/** Bundling takes seconds and its result depends on these files alone, so it is kept under their hash. */
function fingerprint(): string {
  const hash = createHash('sha256').update(PRELOAD.join());
  for (const file of readdirSync(workflows).sort())
    hash.update(file).update(readFileSync(join(workflows, file)));
  return hash
    .update(readFileSync(CONSTANTS))
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
    .slice(0, 16);
}

function keep(path: string, code: string): void {
  const draft = `${path}.${process.pid}`;
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(draft, code);
  renameSync(draft, path);
}

/** The workflows as one script, from the cache when nothing changed. */
export async function loadWorkflowBundle(onCacheError: (error: unknown) => void): Promise<WorkflowBundle> {
  const path = join(root, 'node_modules', '.cache', 'workflows', `${fingerprint()}.js`);
  try {
    return { code: readFileSync(path, 'utf8') };
  } catch {
    // not there yet
  }
  const bundle = await bundleWorkflowCode({
    workflowsPath: join(workflows, 'index.ts'),
    failureConverterPath: join(workflows, 'failureConverter.ts'),
    preloadModules: PRELOAD,
  });
  try {
    keep(path, bundle.code);
  } catch (error) {
    onCacheError(error); // a read-only installation bundles at every start
  }
  return bundle;
}
