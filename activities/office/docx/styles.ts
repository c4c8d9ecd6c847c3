import { scanXml } from '../xml.ts';

const OFF = /^(?:0|false|off)$/;

/** Reads the ids of styles whose text is hidden, from the part with styles. */
export function hiddenStyles(xml: string): Set<string> {
  const own = new Map<string, boolean>();
  const bases = new Map<string, string>();
  let id = '';
  scanXml(xml, {
    open({ name, attributes }) {
      if (name === 'w:style') id = attributes['w:styleId'] ?? '';
      if (name === 'w:basedOn') bases.set(id, attributes['w:val'] ?? '');
      if (name === 'w:vanish') own.set(id, !OFF.test(attributes['w:val'] ?? ''));
    },
  });
  const isHidden = (style: string | undefined, depth = 0): boolean =>
    style !== undefined && depth < 20 && (own.get(style) ?? isHidden(bases.get(style), depth + 1));
  return new Set([...own.keys(), ...bases.keys()].filter((it) => it !== '' && isHidden(it)));
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
