/**
 * A process of its own, in a folder that holds these packages: takes a picture with the one that a message names, in a
 * browser that is warm, and answers how many bytes it has.
 */
import createBrowserless from 'browserless';
import captureWebsite from 'capture-website';
import puppeteer from 'puppeteer';

const [executablePath] = process.argv.slice(2);
const viewport = { width: 1440, height: 900 };
const warm = await puppeteer.launch({ executablePath, args: ['--no-sandbox'] });
const browserless = createBrowserless({ executablePath, puppeteer });

const PEERS = {
  'capture-website': (url) =>
    captureWebsite.buffer(url, {
      ...viewport,
      scaleFactor: 1,
      // Its lists are on the Internet.
      blockAds: false,
      _browser: warm,
      _keepAlive: true,
    }),
  async browserless(url) {
    const context = await browserless.createContext();
    try {
      return await context.screenshot(url, { viewport });
    } finally {
      await context.destroyContext();
    }
  },
};

process.on('message', async ({ id, peer, url }) => {
  try {
    process.send({ id, bytes: (await PEERS[peer](url)).length });
  } catch (error) {
    process.send({ id, error: String(error) });
  }
});
process.on('disconnect', async () => {
  await Promise.allSettled([warm.close(), browserless.close()]);
  process.exit();
});
process.send({ ready: true });
