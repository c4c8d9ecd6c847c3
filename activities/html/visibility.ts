import { type ChildNode, type Element, isTag } from 'domhandler';

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

const BLOCK_DISPLAY = /^(?:block|flex|flow-root|grid|list-item|table)$/;
const DECLARATION = /(?:^|;)\s*(display|visibility|content-visibility)\s*:\s*([a-z-]+)/gi;

/** How an element is shown, as far as its tag and its `style` attribute say. */
export interface Look {
  shown: boolean;
  block: boolean;
  /** Null where it is as its parent is. */
  visible: boolean | null;
}

function inlineStyle({ attribs }: Element): Map<string, string> {
  const { style } = attribs;
  if (style === undefined) return new Map();
  return new Map(
    Array.from(style.matchAll(DECLARATION), ([, name = '', value = '']) => [
      name.toLowerCase(),
      value.toLowerCase(),
    ]),
  );
}

/** What of an element is shown when it is: `details` that is not open has its first summary alone. */
export function shownChildren({ name, attribs, children }: Element): readonly ChildNode[] {
  if (name !== 'details' || 'open' in attribs) return children;
  return children.filter((child) => isTag(child) && child.name === 'summary').slice(0, 1);
}

export function lookOf(element: Element): Look {
  const { name, attribs } = element;
  const style = inlineStyle(element);
  const display = style.get('display');
  const visibility = style.get('visibility');
  return {
    shown:
      !NEVER_SHOWN.has(name) &&
      display !== 'none' &&
      style.get('content-visibility') !== 'hidden' &&
      !('popover' in attribs) &&
      !(name === 'dialog' && !('open' in attribs)) &&
      !('hidden' in attribs && (display === undefined || attribs.hidden === 'until-found')),
    block: display === undefined ? BLOCKS.has(name) : BLOCK_DISPLAY.test(display),
    visible: visibility === undefined ? null : visibility === 'visible',
  };
}

/** Their text is not what a reader sees, but all of it is theirs. */
export const isRawText = (element: Element): boolean => NEVER_SHOWN.has(element.name);
