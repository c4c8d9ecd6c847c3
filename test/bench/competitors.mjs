/**
 * Runs as a separate process in a folder with these packages installed. Takes a screenshot with the library that a message
 * names, in a warm browser, and replies with its size in bytes.
 */
import createBrowserless from 'browserless';
import captureWebsite from 'capture-website';
import puppeteer from 'puppeteer';

const [executablePath] = process.argv.slice(2);
const viewport = { width: 1440, height: 900 };
const warm = await puppeteer.launch({ executablePath, args: ['--no-sandbox'] });
const browserless = createBrowserless({ executablePath, puppeteer });

const COMPETITORS = {
  'capture-website': (url) =>
    captureWebsite.buffer(url, {
      ...viewport,
      scaleFactor: 1,
      // Off, because the library would download filter lists from the Internet.
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

process.on('message', async ({ id, competitor, url }) => {
  try {
    process.send({ id, bytes: (await COMPETITORS[competitor](url)).length });
  } catch (error) {
    process.send({ id, error: String(error) });
  }
});
process.on('disconnect', async () => {
  await Promise.allSettled([warm.close(), browserless.close()]);
  process.exit();
});
process.send({ ready: true });
