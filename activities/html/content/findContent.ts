import { Document, type Text } from 'domhandler';
import { PAGE_TYPES } from '../../../schemas/tools/web-scrape.ts';
import type { LoadedPage } from '../load.ts';
import { describeBlocks } from './blockFeatures.ts';
import { divide } from './blocks.ts';
import { chooseForType } from './chooseForType.ts';
import { describeContext } from './contextFeatures.ts';
import { measure } from './measures.ts';
import { readMetadataText } from './metadataText.ts';
import { type Model, type PageType, readModel } from './model.ts';
import { expandNoscript } from './noscript.ts';
import { describePage } from './pageFeatures.ts';
import { indexPage, readDescription } from './pageIndex.ts';
import { withoutTeasers } from './teasers.ts';

/** The main content of a page. */
export interface Content {
  pageType: PageType;
  /** Estimate of the F1 measure of the content, 0 to 1. */
  confidence: number;
  /** Texts of the page that belong to the content. */
  texts: ReadonlySet<Text>;
  /** Text that only the page's metadata has. */
  extra: readonly string[];
}

/** With fewer words of content, a page is taken to show the rest by scripts. */
const MIN_WORDS = 30;

let own: Model | null = null;

function ownModel(): Model {
  own ??= readModel();
  return own;
}

const softmax = (values: readonly number[]): number[] => {
  const most = Math.max(...values);
  const powers = values.map((value) => Math.exp(value - most));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
};

const logistic = (value: number): number => 1 / (1 + Math.exp(-value));

function calibrate(points: Model['calibration'], expected: number): number {
  const above = points.findIndex(([x]) => x >= expected);
  const [x1, y1] = points[above < 0 ? points.length - 1 : above] ?? [1, 1];
  const [x0, y0] = points[Math.max(0, above - 1)] ?? [0, 0];
  if (above <= 0 || x1 === x0) return y1;
  return y0 + ((y1 - y0) * (expected - x0)) / (x1 - x0);
}

/** Describes a page and its blocks by numbers. */
export function describe({ $, url }: LoadedPage) {
  const root = $.root().get(0) ?? new Document([]);
  const before = indexPage(root);
  const index = expandNoscript(before) ? indexPage(root) : before;
  const { blocks, boxes } = divide(root);
  const measures = measure(blocks);
  const title = $('title').first().text();
  const summary = readDescription(index);
  const facts = describePage(url, title, index, blocks, measures);
  return {
    index,
    blocks,
    boxes,
    measures,
    ...facts,
    ...describeBlocks(blocks, boxes, measures, title, summary, facts.data),
  };
}

/**
 * Finds the main content of a page. A model of decision trees, trained on pages of seven types, estimates for each block of
 * text whether it is content; the blocks with the best expected F1 are chosen.
 *
 * Takes time proportional to the size of the page. Blocks the event loop, so it is called only in the child processes that
 * run jobs.
 */
export function findContent(page: LoadedPage, model = ownModel()): Content {
  const { index, blocks, boxes, measures, data, features, rows, families } = describe(page);
  const { words } = measures;
  const pageExample = { count: 1, tables: [], constants: features };
  const types = softmax(model.types.map((forest) => forest(pageExample)[0] ?? 0));
  const { length: count } = blocks;
  const constants = [...features, ...types];
  const first = model.first({ count, tables: [rows], constants }).map(logistic);
  const context = describeContext(words, first, families);
  const second = model.second({ count, tables: [rows, context], constants }).map(logistic);
  const pageType = PAGE_TYPES[types.indexOf(Math.max(...types))] ?? 'article';
  const { kept: chosen, expected } = chooseForType(blocks, words, second, pageType);
  const kept = pageType === 'article' ? withoutTeasers(blocks, boxes, measures, chosen) : chosen;
  const keptWords = kept.reduce((sum, index) => sum + (words[index] ?? 0), 0);
  const extra = keptWords < MIN_WORDS ? readMetadataText(index, data) : [];
  return {
    pageType,
    confidence: Math.round(100 * calibrate(model.calibration, expected)) / 100,
    texts: new Set(kept.flatMap((index) => blocks[index]?.nodes ?? [])),
    extra,
  };
}
