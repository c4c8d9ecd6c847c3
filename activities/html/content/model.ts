import { readFileSync } from 'node:fs';
import { PAGE_TYPES } from '../../../schemas/tools/web-scrape.ts';
import { BLOCK_FEATURES } from './blockFeatures.ts';
import { CONTEXT_FEATURES } from './contextFeatures.ts';
import { type Forest, readForest, type StoredForest } from './forest.ts';
import { PAGE_FEATURES } from './pageFeatures.ts';

export type PageType = (typeof PAGE_TYPES)[number];

interface StoredModel {
  features: { block: string[]; page: string[] };
  /** Trees that tell from the block itself whether it is content. */
  first: StoredForest;
  /** Trees that also know what the first ones say of other blocks. */
  second: StoredForest;
  /** Trees for each page type. */
  types: StoredForest[];
  /** Points of the function from expected to measured quality, both ascending. */
  calibration: [expected: number, measured: number][];
}

export interface Model {
  first: Forest;
  second: Forest;
  types: Forest[];
  calibration: readonly (readonly [number, number])[];
}

const TYPE_FEATURES = PAGE_TYPES.map((type) => `type.${type}`);
/** Columns of the rows that the forests for blocks get. */
const COLUMNS: readonly string[] = [
  ...BLOCK_FEATURES,
  ...PAGE_FEATURES,
  ...TYPE_FEATURES,
  ...CONTEXT_FEATURES,
];

const columnsOf = (names: readonly string[], all: readonly string[]): number[] =>
  names.map((name) => {
    const column = all.indexOf(name);
    if (column < 0) throw new Error(`The model needs the feature ${name}`);
    return column;
  });

/** Reads the model that `train.py` made. */
export function readModel(): Model {
  const stored: StoredModel = JSON.parse(readFileSync(new URL('model.json', import.meta.url), 'utf8'));
  const blockColumns = columnsOf(stored.features.block, COLUMNS);
  const pageColumns = columnsOf(stored.features.page, PAGE_FEATURES);
  return {
    first: readForest(stored.first, blockColumns),
    second: readForest(stored.second, blockColumns),
    types: stored.types.map((forest) => readForest(forest, pageColumns)),
    calibration: stored.calibration,
  };
}
