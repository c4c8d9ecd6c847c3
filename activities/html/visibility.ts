import { type ChildNode, type Element, isTag } from 'domhandler';
import { type Declarations, override, readDeclarations } from './declarations.ts';
import type { Sheets } from './sheets.ts';

const names = (list: string): ReadonlySet<string> => new Set(list.trim().split(/\s+/));

/**
 * `display: none` of the HTML Standard's user agent style sheet (section 15.3.1), and elements of which browsers show
 * something else than their content: players, frames, form fields, the definitions of SVG and the notes of MathML.
 */
const NEVER_SHOWN = names(`
  area base basefont datalist head link meta noembed noframes noscript param rp script style template title
  audio canvas embed frameset iframe input meter progress textarea video
  defs desc metadata symbol annotation annotation-xml`);

/** What starts and ends on a line of its own in the same style sheet, and in Chromium. */
const BLOCKS = names(`
  address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure footer
  form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main math menu nav ol optgroup option p plaintext pre
  search section select summary svg table tbody tfoot thead tr ul xmp
  text foreignObject`);

const NOTHING: Declarations = new Map();
const BLOCK_DISPLAY = /^(?:block|flex|flow-root|grid|list-item|table)$/;

/** How an element is shown, as far as its tag, its `style` attribute and the page's own sheets say. */
export interface Look {
  shown: boolean;
  block: boolean;
  /** Null where it is as its parent is. */
  visible: boolean | null;
}

/** What counts of each property: `!important` before all else, then the `style` attribute, then the sheets. */
function styleOf(element: Element, sheets: Sheets | null): Declarations {
  const declared = sheets?.get(element) ?? NOTHING;
  const { style } = element.attribs;
  if (style === undefined) return declared;
  const found = new Map(declared);
  override(found, readDeclarations(style));
  return found;
}

/** What of an element is shown when it is: `details` that is not open has its first summary alone. */
export function shownChildren({ name, attribs, children }: Element): readonly ChildNode[] {
  if (name !== 'details' || 'open' in attribs) return children;
  return children.filter((child) => isTag(child) && child.name === 'summary').slice(0, 1);
}

/** @param sheets null to go by the `style` attribute alone */
export function lookOf(element: Element, sheets: Sheets | null): Look {
  const { name, attribs } = element;
  const style = styleOf(element, sheets);
  const display = style.get('display')?.value;
  const visibility = style.get('visibility')?.value;
  return {
    shown:
      !NEVER_SHOWN.has(name) &&
      display !== 'none' &&
      style.get('content-visibility')?.value !== 'hidden' &&
      !('popover' in attribs) &&
      !(name === 'dialog' && !('open' in attribs)) &&
      !('hidden' in attribs && (display === undefined || attribs.hidden === 'until-found')),
    block: display === undefined ? BLOCKS.has(name) : BLOCK_DISPLAY.test(display),
    visible: visibility === undefined ? null : visibility === 'visible',
  };
}

/** Their text is not what a reader sees, but all of it is theirs. */
export const isRawText = (element: Element): boolean => NEVER_SHOWN.has(element.name);
