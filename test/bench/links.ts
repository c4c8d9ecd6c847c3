import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { LinkChecker } from 'linkinator';
import { guardFor, listen } from '../helpers/egress.ts';
import { loadTool } from '../helpers/tool.ts';
import { type Measured, measure } from './measure.ts';
import type { Sizes } from './sizes.ts';

const LINKS = 30;

interface LinksRow {
  linkinator: Measured;
  ours: Measured;
  /** p50 of the tool divided by p50 of linkinator. */
  latency: number;
}

/**
 * Compares broken-links, called without the stack, with linkinator at the same concurrency, on a page with 30 links
 * whose targets take a time to respond. The runs alternate.
 */
export async function benchLinks({ rounds, answerMs }: Sizes['links']): Promise<LinksRow> {
  const page = Array.from({ length: LINKS }, (_, index) => `<a href="/${index + 1}">${index}</a>`).join('');
  const server = createServer(async ({ url }, response) => {
    if (url !== '/') await sleep(answerMs);
    response.setHeader('Content-Type', 'text/html').end(`<!doctype html>${page}`);
  });
  const port = await listen(server);
  const url = `http://127.0.0.1:${port}/`;
  try {
    const tool = await loadTool('broken-links');
    const egress = guardFor(port);
    const ours = async () => {
      const { checked } = await tool.call({ url }, { egress });
      if (checked !== LINKS) throw new Error(`${checked} links`);
    };
    const linkinator = async () => {
      const { links } = await new LinkChecker().check({ path: url, concurrency: 5 });
      // linkinator counts the page itself as a link.
      if (links.length !== LINKS + 1) throw new Error(`${links.length} links`);
    };
    await ours();
    await linkinator();
    const runs: { ours: Measured; linkinator: Measured }[] = [];
    for (let round = 0; round < rounds; round++)
      runs.push({ linkinator: await measure(1, 1, linkinator), ours: await measure(1, 1, ours) });
    const ratio = (run: (typeof runs)[number]) => run.ours.p50 / run.linkinator.p50;
    const median = runs.toSorted((a, b) => ratio(a) - ratio(b))[Math.floor(runs.length / 2)];
    if (median === undefined) throw new RangeError('no rounds');
    return { ...median, latency: ratio(median) };
  } finally {
    server.close();
    server.closeAllConnections();
  }
}
