import { ElementHandle, type Page } from 'puppeteer';
import type { Tab } from './browser.ts';

/**
 * Seconds of a person's operations in the keystroke-level model (Card, Moran and Newell, Communications of the ACM 23 (7), 1980): to think
 * before an act, to point with the mouse, to press and release its button, to move a hand between mouse and keyboard, and to press a key
 * as an average typist without skill.
 */
const PERSON = { think: 1.35, point: 1.1, press: 0.2, move: 0.4, key: 0.28 } as const;

/** What a person does in a browser for one task. Each click leads to a page. */
export interface Recording {
  /** Number of buttons and links that were clicked. */
  clicks: number;
  /** Number of fields that were filled in. */
  fields: number;
  /** Seconds that a person needs for the acts, without the time of the service. */
  effort: number;
  /** The steps in words, each with the page to which it led. */
  steps: string[];
  open(path: string): Promise<void>;
  /** Clicks a link or a button by the text that it shows, or with which it begins. */
  click(name: string): Promise<void>;
  /** Fills in a field by its label. */
  type(label: string, text: string): Promise<void>;
  /** Fills in a search field and presses Enter. */
  search(label: string, text: string): Promise<void>;
}

/** Seconds until a person has clicked an element. */
const POINTED = PERSON.think + PERSON.point + PERSON.press;

/** Finds a visible element by its name: what labels it, or the text that it shows. */
async function visible(page: Page, selector: string, name: string): Promise<ElementHandle<Element>> {
  const missing = (cause?: unknown) => new Error(`${page.url()} shows no "${name}"`, { cause });
  const found = page.waitForFunction(
    (all, wanted) => {
      const nameOf = (element: Element): string => {
        const labels = element instanceof HTMLInputElement ? element.labels : null;
        const text = element.getAttribute('aria-label') ?? labels?.[0]?.textContent ?? element.textContent;
        return text.replaceAll(/\s+/g, ' ').trim();
      };
      const shown = [...document.querySelectorAll(all)].filter((element) => element.checkVisibility());
      const exact = shown.find((element) => nameOf(element) === wanted);
      return exact ?? shown.find((element) => nameOf(element).startsWith(wanted)) ?? null;
    },
    {},
    selector,
    name,
  );
  const handle = await found.catch((error: unknown) => {
    throw missing(error);
  });
  if (!(handle instanceof ElementHandle)) throw missing();
  return handle;
}

/** Records what is done in a tab from now on. */
export function startRecording({ page, open }: Tab): Recording {
  const place = (): string => {
    const { hostname, pathname } = new URL(page.url());
    return hostname === '127.0.0.1' ? pathname : hostname;
  };
  const moves = (act: Promise<unknown>) => Promise.all([page.waitForNavigation({ waitUntil: 'load' }), act]);
  async function fill(label: string, text: string): Promise<void> {
    const field = await visible(page, 'input, textarea', label);
    await field.click({ count: 3 });
    await field.type(text);
    recording.fields += 1;
    recording.effort += POINTED + 2 * PERSON.move + text.length * PERSON.key;
  }
  const recording: Recording = {
    clicks: 0,
    fields: 0,
    effort: 0,
    steps: [],
    async open(path) {
      await open(path);
      recording.steps.push(`opens ${path}`);
    },
    async click(name) {
      const element = await visible(page, 'a, button', name);
      await moves(element.click());
      recording.clicks += 1;
      recording.effort += POINTED;
      recording.steps.push(`clicks "${name}" -> ${place()}`);
    },
    async type(label, text) {
      await fill(label, text);
      recording.steps.push(`fills in "${label}"`);
    },
    async search(label, text) {
      await fill(label, text);
      await moves(page.keyboard.press('Enter'));
      recording.steps.push(`searches for "${text}" -> ${place()}`);
    },
  };
  return recording;
}
