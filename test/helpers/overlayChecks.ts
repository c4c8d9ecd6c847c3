import type { Page } from 'puppeteer';

/** Returns those selectors whose elements are visible; `host >>> inner` selects an element within a shadow root. */
export const visibleElements = (page: Page, selectors: readonly string[]): Promise<string[]> =>
  page.evaluate(
    (all) =>
      all.filter((selector) => {
        const [outer = '', inner] = selector.split(' >>> ');
        const found = document.querySelector(outer);
        const element = inner === undefined ? found : found?.shadowRoot?.querySelector(inner);
        return element?.checkVisibility({ opacityProperty: true, visibilityProperty: true }) ?? false;
      }),
    [...selectors],
  );

/** Returns all visible texts of the page and its frames. */
export const visibleTexts = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const shown = [...document.querySelectorAll('iframe')].filter((frame) => frame.checkVisibility());
    const roots = [document.body, ...shown.map((frame) => frame.contentDocument?.body ?? frame)];
    return roots.flatMap((root) => {
      const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      const found: string[] = [];
      while (walker.nextNode()) {
        const { data } = walker.currentNode as Text;
        if (data.trim() !== '' && walker.currentNode.parentElement?.checkVisibility())
          found.push(data.trim());
      }
      return found;
    });
  });
