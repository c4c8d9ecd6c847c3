import type { Edit, Tag } from '../xml.ts';

/** Prefix of the title of a picture in which forkServer.py finds its opacity in percent, and which it removes. */
const PREFIX = '_opacity';

/** Returns an opacity (ECMA-376-1, 20.1.8.6) in percent. @param amount in thousandths of a percent, or with a percent sign */
function readOpacity(amount: string): number {
  const value = Number.parseFloat(amount) / (amount.trim().endsWith('%') ? 1 : 1000);
  return Math.round(Math.min(100, Math.max(0, value)));
}

/**
 * Collects the edits that put the opacity of transparent pictures into their titles, because LibreOffice does not read it from Word
 * documents. It gives copies of a picture, in the header of the next section, other names but the same title.
 *
 * @param xml the part that contains them
 */
export function createPictureEdits(xml: string) {
  const edits: Edit[] = [];
  /** The elements with properties of the picture that is being read. */
  let elements: Tag[] = [];
  let isPicture = false;

  return {
    edits,
    open(tag: Tag): void {
      const { name, attributes } = tag;
      if (name === 'wp:docPr') elements = [tag];
      // Pictures in a group have only the second element.
      if (name === 'pic:cNvPr') elements = [...elements.filter((it) => it.name === 'wp:docPr'), tag];
      if (name === 'pic:blipFill') isPicture = true;
      if (name !== 'a:alphaModFix' || !isPicture) return;
      const opacity = readOpacity(attributes.amt ?? '100%');
      if (!(opacity < 100)) return;
      for (const { start, end, selfClosing } of elements) {
        const text = xml.slice(start, end);
        const [title = ' title=""'] = /\stitle\s*=\s*(?:"[^"]*"|'[^']*')/.exec(text) ?? [];
        const marked = title.replace(/["']/, `$&${PREFIX} ${opacity} `);
        const rest = text.replace(title, '');
        const at = rest.length - (selfClosing ? 2 : 1);
        edits.push({ start, end, text: rest.slice(0, at) + marked + rest.slice(at) });
      }
    },
    close(name: string): void {
      if (name === 'pic:blipFill') isPicture = false;
    },
  };
}
