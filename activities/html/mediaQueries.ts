/** Viewport for which style sheets are evaluated, in CSS pixels: the default viewport of website-screenshot. */
const WINDOW: Readonly<Record<string, number>> = { width: 1440, height: 900 };
const PIXELS: Readonly<Record<string, number>> = { px: 1, em: 16, rem: 16 };
/**
 * Media features whose value is a keyword, and the keyword that applies to a desktop browser without user preferences.
 */
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

const MEDIA_TYPE = /^(?:(not|only) )?([a-z]+)$/;
const LENGTH = /^(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})(px|em|rem)$/;
/** A media feature in the range syntax, without its parentheses: `400px <= width < 800px`. Either side is optional. */
const RANGE =
  /^(?:(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})(px|em|rem) ?(<=?|>=?) ?)?(width|height)(?: ?(<=?|>=?) ?(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})(px|em|rem))?$/;

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

/** Whether a media feature applies. @param text the feature, in parentheses */
function featureApplies(text: string): boolean {
  if (!text.startsWith('(') || !text.endsWith(')')) return false;
  const feature = text.slice(1, -1).trim();
  const inRange = rangeApplies(feature);
  if (inRange !== null) return inRange;
  const [name = '', value] = feature.split(':', 2).map((part) => part.trim());
  const keyword = KEYWORDS[name];
  if (keyword !== undefined) return value === undefined || value === keyword;
  const [, bound, side = ''] = /^(min|max)-(width|height)$/.exec(name) ?? [];
  const [, number = '', unit = ''] = LENGTH.exec(value === '0' ? '0px' : (value ?? '')) ?? [];
  const size = WINDOW[side];
  if (size === undefined || number === '') return false;
  return compare(size, bound === 'min' ? '>=' : '<=', pixelsOf(number, unit));
}

function queryApplies(query: string): boolean {
  const [first = '', ...rest] = query.split(' and ');
  const [, modifier, type] = MEDIA_TYPE.exec(first) ?? [];
  const features = type === undefined ? [first, ...rest] : rest;
  const applies =
    (type === undefined || type === 'all' || type === 'screen') && features.every(featureApplies);
  return modifier === 'not' ? !applies : applies;
}

/**
 * Whether a media query list (Media Queries Level 4) applies to a desktop browser without user preferences. A query
 * with unknown features or with `or` does not apply.
 */
export function mediaApplies(list: string): boolean {
  const text = list.toLowerCase().replaceAll(/\s+/g, ' ').trim();
  return text === '' || text.split(',').some((query) => queryApplies(query.trim()));
}
