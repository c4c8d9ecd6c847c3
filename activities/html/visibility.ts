import { type ChildNode, type Element, isTag } from 'domhandler';
import { type Declarations, override, readDeclarations } from './declarations.ts';
import type { StyleSheets } from './styleSheets.ts';

const names = (list: string): ReadonlySet<string> => new Set(list.trim().split(/\s+/));

/**
 * Elements with `display: none` in the HTML Standard's user agent style sheet (section 15.3.1), and elements whose content
 * browsers do not render as text: media players, frames, form fields, SVG definitions and MathML annotations.
 */
const NEVER_RENDERED = names(`
  area base basefont datalist head link meta noembed noframes noscript param rp script style template title
  audio canvas embed frameset iframe input meter progress textarea video
  defs desc metadata symbol annotation annotation-xml`);

/**
 * Elements that begin and end on a line of their own, by the HTML Standard's user agent style sheet and in Chromium.
 */
const BLOCKS = names(`
  address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure footer
  form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main math menu nav ol optgroup option p plaintext pre
  search section select summary svg table tbody tfoot thead tr ul xmp
  text foreignObject`);

/**
 * Root elements, which always count as visible: some pages hide them until a script shows them, to prevent framing or
 * flicker.
 */
const ROOTS = names('html body');

const NOTHING: Declarations = new Map();
const BLOCK_DISPLAY = /^(?:block|flex|flow-root|grid|list-item|table|-webkit-box)$/;
/** Values of `display` that make the element's children blocks (CSS Flexbox and CSS Grid, "blockified"). */
const ITEM_DISPLAY = /^(?:inline-)?(?:flex|grid)$/;

/** How an element is displayed, according to its tag, its `style` attribute and the page's `style` elements. */
interface Display {
  rendered: boolean;
  block: boolean;
  /** Whether the element lays out its children as blocks, as a flex or grid container does. */
  blockifies: boolean;
  /** Whether the element's text is visible; null when the element inherits this from its parent. */
  visible: boolean | null;
}

/**
 * Computes the style of an element: `!important` declarations win over the `style` attribute, which wins over style
 * sheets.
 */
function styleOf(element: Element, sheets: StyleSheets | null): Declarations {
  const declared = sheets?.get(element) ?? NOTHING;
  const { style } = element.attribs;
  if (style === undefined) return declared;
  const found = new Map(declared);
  override(found, readDeclarations(style));
  return found;
}

/** Returns the children that are rendered. A closed `details` element renders only its first summary. */
export function renderedChildren({ name, attribs, children }: Element): readonly ChildNode[] {
  if (name !== 'details' || 'open' in attribs) return children;
  return children.filter((child) => isTag(child) && child.name === 'summary').slice(0, 1);
}

/**
 * Derives how an element is displayed. Styles never hide the root elements, because in a browser the page's script
 * would show them.
 *
 * @param sheets declarations of the page's style sheets; null to use only the `style` attribute
 */
export function displayOf(element: Element, sheets: StyleSheets | null): Display {
  const { name, attribs } = element;
  if (ROOTS.has(name)) return { rendered: true, block: true, blockifies: false, visible: true };
  const style = styleOf(element, sheets);
  const display = style.get('display')?.value;
  const visibility = style.get('visibility')?.value;
  return {
    rendered:
      !NEVER_RENDERED.has(name) &&
      display !== 'none' &&
      style.get('content-visibility')?.value !== 'hidden' &&
      !('popover' in attribs) &&
      !(name === 'dialog' && !('open' in attribs)) &&
      !('hidden' in attribs && (display === undefined || attribs.hidden === 'until-found')),
    block: display === undefined ? BLOCKS.has(name) : BLOCK_DISPLAY.test(display),
    blockifies: display !== undefined && ITEM_DISPLAY.test(display),
    visible: visibility === undefined ? null : visibility === 'visible',
  };
}

/** Whether browsers never render the content of an element as text, so that its text is returned unformatted. */
export const isRawText = (element: Element): boolean => NEVER_RENDERED.has(element.name);
