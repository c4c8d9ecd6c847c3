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
/** Features that the forests for blocks get, in their order. */
const FIRST_COLUMNS = [...BLOCK_FEATURES, ...PAGE_FEATURES, ...TYPE_FEATURES];
const SECOND_COLUMNS = [...BLOCK_FEATURES, ...CONTEXT_FEATURES, ...PAGE_FEATURES, ...TYPE_FEATURES];

/** Reads a model that `train.py` made. */
export function readModel(file: string | URL = new URL('model.json', import.meta.url)): Model {
  const stored: StoredModel = JSON.parse(readFileSync(file, 'utf8'));
  const { block, page } = stored.features;
  return {
    first: readForest(stored.first, block, FIRST_COLUMNS),
    second: readForest(stored.second, block, SECOND_COLUMNS),
    types: stored.types.map((forest) => readForest(forest, page, PAGE_FEATURES)),
    calibration: stored.calibration,
  };
}
