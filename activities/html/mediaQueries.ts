/** The window for which style sheets are read, in CSS pixels: the default window of website-screenshot. */
const WINDOW: Readonly<Record<string, number>> = { width: 1440, height: 900 };
const PIXELS: Readonly<Record<string, number>> = { px: 1, em: 16, rem: 16 };
/** Features with a keyword, and the keywords that apply to a desktop window without preferences. */
const KEYWORDS: Readonly<Record<string, string>> = {
  orientation: 'landscape',
  hover: 'hover',
  'any-hover': 'hover',
  pointer: 'fine',
  'any-pointer': 'fine',
  scripting: 'enabled',
  'prefers-color-scheme': 'light',
  'prefers-reduced-motion': 'no-preference',
};

const MEDIA_TYPE = /^(?:(not|only)\s+)?(all|screen|[a-z]+)$/;
const LENGTH = String.raw`(\d*\.?\d+)(px|em|rem)`;
const FEATURE = /^\(\s*([a-z-]+)\s*(?::\s*([^)]*?)\s*)?\)$/;
const RANGE = new RegExp(
  String.raw`^\(\s*(?:${LENGTH}\s*(<=?|>=?)\s*)?(width|height)\s*(?:(<=?|>=?)\s*${LENGTH}\s*)?\)$`,
);

const pixelsOf = (number: string, unit: string): number => Number(number) * (PIXELS[unit] ?? Number.NaN);

function compare(left: number, operator: string, right: number): boolean {
  if (operator.startsWith('<')) return left < right || (operator === '<=' && left === right);
  return left > right || (operator === '>=' && left === right);
}

function rangeApplies(text: string): boolean | null {
  const found = RANGE.exec(text);
  if (found === null) return null;
  const [, low, lowUnit = '', before, feature = '', after, high = '', highUnit = ''] = found;
  const size = WINDOW[feature] ?? Number.NaN;
  return (
    (low === undefined || before === undefined || compare(pixelsOf(low, lowUnit), before, size)) &&
    (after === undefined || compare(size, after, pixelsOf(high, highUnit)))
  );
}

function featureApplies(text: string): boolean {
  const inRange = rangeApplies(text);
  if (inRange !== null) return inRange;
  const [, name = '', value] = FEATURE.exec(text) ?? [];
  const keyword = KEYWORDS[name];
  if (keyword !== undefined) return value === undefined || value === keyword;
  const [, bound, feature = ''] = /^(min|max)-(width|height)$/.exec(name) ?? [];
  const [, number = '', unit = ''] =
    new RegExp(`^${LENGTH}$`).exec(value === '0' ? '0px' : (value ?? '')) ?? [];
  const size = WINDOW[feature];
  if (size === undefined || number === '') return false;
  return compare(size, bound === 'min' ? '>=' : '<=', pixelsOf(number, unit));
}

function queryApplies(query: string): boolean {
  const [first = '', ...rest] = query.split(/\s+and\s+/);
  const [, modifier, type] = MEDIA_TYPE.exec(first) ?? [];
  const features = type === undefined ? [first, ...rest] : rest;
  const applies =
    (type === undefined || type === 'all' || type === 'screen') && features.every(featureApplies);
  return modifier === 'not' ? !applies : applies;
}

/**
 * Whether a media query list (Media Queries Level 4) applies to a desktop window without user preferences. A query with
 * unknown features or with `or` does not apply.
 */
export function mediaApplies(list: string): boolean {
  const text = list.trim().toLowerCase();
  return text === '' || text.split(',').some((query) => queryApplies(query.trim()));
}
