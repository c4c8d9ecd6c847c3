import { readFileSync } from 'node:fs';
import sharp from 'sharp';
import { codeOf } from './egress.ts';
import { type Cost, startFiles } from './images.ts';
import { loadTool } from './tool.ts';

/**
 * Run as a process of its own: has a tool take pictures, one after the other, and prints what each of them cost. Everything is
 * loaded before the first.
 */
const [name = '', body = '{}', ...paths] = process.argv.slice(2);
const tool = await loadTool(name);
const files = await startFiles();
const take = (bytes: Buffer) =>
  codeOf(() => tool.call({ fileUrl: files.put({ bytes }), ...JSON.parse(body) }, { egress: files.guard }));
/** Kilobytes there. */
const peak = () => 1024 * process.resourceUsage().maxRSS;

const background = { r: 9, g: 9, b: 9 };
await take(
  await sharp({ create: { width: 40, height: 30, channels: 3, background } })
    .png()
    .toBuffer(),
);
const costs: Cost[] = [];
for (const path of paths) {
  const bytes = readFileSync(path);
  const [before, start] = [peak(), performance.now()];
  const outcome = await take(bytes);
  costs.push({ outcome, ms: performance.now() - start, growth: peak() - before });
}
process.stdout.write(JSON.stringify(costs), () => process.exit());
