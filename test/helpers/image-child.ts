import { readFileSync } from 'node:fs';
import sharp from 'sharp';
import { memoryOf, processTree } from '../../activities/browser/processes.ts';
import { codeOf } from './egress.ts';
import { type Cost, startFiles } from './images.ts';
import { loadTool } from './tool.ts';

/**
 * Runs as a separate process: calls an image tool several times in sequence and prints the time and memory that
 * each call used. An unmeasured call before them loads all modules.
 */
const [name = '', body = '{}', ...paths] = process.argv.slice(2);
const tool = await loadTool(name);
const files = await startFiles();
const take = (bytes: Buffer) =>
  codeOf(() => tool.call({ fileUrl: files.put({ bytes }), ...JSON.parse(body) }, { egress: files.guard }));
const LOOK_EVERY_MS = 5;
/** Memory, in bytes, of this process and its decoder processes. */
const held = () => memoryOf(processTree(process.pid));

const background = { r: 9, g: 9, b: 9 };
await take(
  await sharp({ create: { width: 40, height: 30, channels: 3, background } })
    .png()
    .toBuffer(),
);
const costs: Cost[] = [];
for (const path of paths) {
  const bytes = readFileSync(path);
  const [before, start] = [held(), performance.now()];
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, held());
  }, LOOK_EVERY_MS);
  const outcome = await take(bytes);
  clearInterval(watch);
  costs.push({ outcome, ms: performance.now() - start, growth: peak - before });
}
process.stdout.write(JSON.stringify(costs), () => process.exit());
