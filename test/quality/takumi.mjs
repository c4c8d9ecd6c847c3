/**
 * Runs as a separate process in a folder with Takumi installed. Draws the markup of each message and replies with the pixels
 * (RGBA), the width of its text, and the time and memory that it took.
 */
import { readFile } from 'node:fs/promises';
import { Renderer } from '@takumi-rs/core';
import { fromHtml } from '@takumi-rs/helpers/html';

const [width, height, fonts] = process.argv.slice(2).map((it) => JSON.parse(it));

const renderer = new Renderer();
for (const { path, ...font } of fonts) await renderer.registerFont({ ...font, data: await readFile(path) });

const find = (node, tag) =>
  node.tagName === tag
    ? node
    : (node.children ?? []).map((child) => find(child, tag)).find((it) => it !== undefined);

/**
 * Adds defaults of Chromium that Takumi does not have: boxes are content-box, the font is a serif, and the background of the
 * body covers the canvas.
 */
function asInChromium(html) {
  const { node, css } = fromHtml(html);
  const body = find(node, 'body');
  const rule = new RegExp(`\\.${body?.className}\\{([^}]*)\\}`).exec(css.join('\n'))?.[1];
  const background = body?.style?.background ?? /(?:^|;)background:([^;]+)/.exec(rule ?? '')?.[1] ?? 'white';
  const before = [
    '*{box-sizing:content-box}table{box-sizing:border-box}',
    `html{font-family:serif;width:${width}px;min-height:${height}px;background:${background}}`,
  ];
  return { node, css: [...before, ...css, 'body{background:transparent !important}'] };
}

/** Returns the width of all lines of text together, in pixels. */
const widthOf = ({ runs, children }) =>
  [...runs.map((run) => run.width), ...children.map(widthOf)].reduce((sum, width) => sum + width, 0);

process.on('message', async ({ html }) => {
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  try {
    const { node, css } = asInChromium(html);
    const pixels = await renderer.render(node, { width, height, css, format: 'raw' });
    const { user, system } = process.cpuUsage(cpu);
    const used = { wallMs: performance.now() - began, cpuMs: (user + system) / 1000 };
    const textWidth = widthOf(await renderer.measure(node, { width, height, css }));
    process.send({ pixels, textWidth, ...used, memory: process.memoryUsage.rss() });
  } catch (error) {
    process.send({ error: String(error) });
  }
});
process.on('disconnect', () => process.exit());
process.send({ ready: true });
