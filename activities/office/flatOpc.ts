import { decodeXml, scanXml } from './xml.ts';
import { zipOfParts } from './zip.ts';

const START = /<pkg:package\b/;
const TYPES = 'http://schemas.openxmlformats.org/package/2006/content-types';

/** Returns the archive that a Word document in one XML file (Flat OPC) stands for; null for other files. */
export function readFlatOpc(bytes: Buffer): Buffer | null {
  if (!START.test(bytes.toString('latin1', 0, 1000))) return null;
  const xml = decodeXml(bytes);
  const parts = new Map<string, Buffer>();
  const overrides: string[] = [];
  let name = '';
  let content = 0;
  scanXml(xml, {
    open({ name: tag, attributes, end }) {
      if (tag === 'pkg:part') {
        name = (attributes['pkg:name'] ?? '').replace(/^\//, '');
        const type = (attributes['pkg:contentType'] ?? '').replaceAll('"', '');
        overrides.push(`<Override PartName="/${name}" ContentType="${type}"/>`);
      } else if (tag === 'pkg:xmlData' || tag === 'pkg:binaryData') content = end;
    },
    close(tag, start) {
      const text = xml.slice(content, Math.max(content, start));
      if (tag === 'pkg:xmlData') parts.set(name, Buffer.from(text));
      else if (tag === 'pkg:binaryData') parts.set(name, Buffer.from(text, 'base64'));
    },
  });
  parts.set('[Content_Types].xml', Buffer.from(`<Types xmlns="${TYPES}">${overrides.join('')}</Types>`));
  return zipOfParts(parts);
}
