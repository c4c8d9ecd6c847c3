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

/** Elements that start and end on a line of their own, by the same style sheet and in Chromium. */
const BLOCKS = names(`
  address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure footer
  form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main math menu nav ol optgroup option p plaintext pre
  search section select summary svg table tbody tfoot thead tr ul xmp
  text foreignObject`);

/** Elements that a page may hide only until its script shows them, such as guards against framing and flicker. */
const ROOTS = names('html body');

const NOTHING: Declarations = new Map();
const BLOCK_DISPLAY = /^(?:block|flex|flow-root|grid|list-item|table)$/;

/** How an element is displayed, derived from its tag, its `style` attribute and the embedded style sheets. */
export interface Display {
  rendered: boolean;
  block: boolean;
  /** Null when inherited from the parent. */
  visible: boolean | null;
}

/** Computes the style of an element: `!important` first, then the `style` attribute, then the style sheets. */
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
 * Style never hides the root elements: a browser would show them once the page's script ran.
 *
 * @param sheets null to use only the `style` attribute
 */
export function displayOf(element: Element, sheets: StyleSheets | null): Display {
  const { name, attribs } = element;
  if (ROOTS.has(name)) return { rendered: true, block: true, visible: true };
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
    visible: visibility === undefined ? null : visibility === 'visible',
  };
}

/** Whether the content of an element is never rendered as text and is returned unformatted. */
export const isRawText = (element: Element): boolean => NEVER_RENDERED.has(element.name);
