import { scanXml } from '../xml.ts';

const OFF = /^(?:0|false|off)$/;
/** Size of letters of which a document does not say it, in points (ECMA-376-1, 17.3.2.38). */
const DEFAULT_SIZE = 10;
/** Longest chain of styles of which each is based on the next one. */
const DEPTH = 20;

export interface Styles {
  /** The ids of styles whose text is hidden. */
  hidden: ReadonlySet<string>;
  /** Returns the size of the letters of a style in points. @param style its id; '' for the default */
  sizeOf(style: string): number;
}

/** Reads what the part with styles says of text. */
export function readStyles(xml: string): Styles {
  const vanish = new Map<string, boolean>();
  const sizes = new Map<string, number>();
  const bases = new Map<string, string>();
  let id = '';
  let normal = '';
  scanXml(xml, {
    open({ name, attributes }) {
      const value = attributes['w:val'] ?? '';
      if (name === 'w:style') {
        id = attributes['w:styleId'] ?? '';
        if (attributes['w:type'] === 'paragraph' && /^(?:1|true|on)$/.test(attributes['w:default'] ?? ''))
          normal = id;
      }
      if (name === 'w:basedOn') bases.set(id, value);
      if (name === 'w:vanish') vanish.set(id, !OFF.test(value));
      if (name === 'w:sz' && Number(value) > 0) sizes.set(id, Number(value) / 2);
    },
  });
  const find = <T>(values: ReadonlyMap<string, T>, style: string | undefined, depth = 0): T | undefined =>
    style === undefined || depth > DEPTH
      ? undefined
      : (values.get(style) ?? find(values, bases.get(style), depth + 1));
  const ids = [...vanish.keys(), ...bases.keys()];
  return {
    hidden: new Set(ids.filter((it) => it !== '' && find(vanish, it))),
    sizeOf: (style) => find(sizes, style || normal) ?? sizes.get('') ?? DEFAULT_SIZE,
  };
}

/** Returns the names and ids of all styles, in small letters, from the part with styles. */
export function styleNames(xml: string): Set<string> {
  const names = new Set<string>();
  let isStyle = false;
  scanXml(xml, {
    open({ name, attributes }) {
      if (name === 'w:style') {
        isStyle = true;
        names.add((attributes['w:styleId'] ?? '').toLowerCase());
      } else if (name === 'w:name' && isStyle) names.add((attributes['w:val'] ?? '').toLowerCase());
    },
    close(name) {
      if (name === 'w:style') isStyle = false;
    },
  });
  return names;
}
