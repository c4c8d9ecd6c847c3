import { type Element, isTag, isText } from 'domhandler';
import type { PhrasingContent, RootContent } from 'mdast';
import { plainText } from './code.ts';
import { find } from './find.ts';
import { isImage } from './images.ts';

/** Texts of links by which headings link to themselves: a mark, or a label for those who cannot see it. */
const ANCHOR_TEXT = /^(?:[#¶§🔗∞]|(?:perma|direct )?link(?: to\b.*)?|section titled\b.*|anchor)?$/iu;
const ANCHOR_CLASS = /(?:^|[\s_-])(?:anchor|headerlink|hash-link|permalink)/i;
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/** Whether a link only leads to the heading that it is in or beside. */
export function isAnchor(element: Element, inHeading: boolean): boolean {
  const { class: classes = '', href = '' } = element.attribs;
  const isNamed = ANCHOR_CLASS.test(classes) && href.startsWith('#');
  if (!isNamed && (!inHeading || !href.includes('#'))) return false;
  const text = plainText(element).replaceAll(INVISIBLE, '').trim();
  // A label without a class may be the heading itself.
  return (
    (isNamed || [...text].length < 2) && ANCHOR_TEXT.test(text) && find(element.children, isImage) === null
  );
}

/** Returns the link that all text of an element is in; null when there is none. */
export function linkOfAll(element: Element): Element | null {
  const [only, ...others] = element.children.filter((it) => !isText(it) || it.data.trim() !== '');
  if (only === undefined || others.length > 0 || !isTag(only)) return null;
  return only.name === 'a' ? only : linkOfAll(only);
}

/** Whether something follows a drawing that it is apart from; at the end of a link, the drawing says where the link leads. */
export function isBetween(drawing: Element): boolean {
  for (let at = drawing; at.name !== 'a'; at = at.parent) {
    if (at.next !== null) return !isText(at.next) || !/^[.,;:!?)\]]/.test(at.next.data);
    if (at.parent === null || !isTag(at.parent)) break;
  }
  return false;
}

/** Returns the headings and paragraphs among nodes, also those in lists and quotations, in order. */
const titlesIn = (nodes: readonly RootContent[]): Extract<RootContent, { type: 'heading' | 'paragraph' }>[] =>
  nodes.flatMap((node) => {
    if (node.type === 'heading' || node.type === 'paragraph') return [node];
    return node.type === 'list' || node.type === 'listItem' || node.type === 'blockquote'
      ? titlesIn(node.children)
      : [];
  });

const isNoLink = (node: PhrasingContent): boolean => node.type !== 'link';

/** Makes a link of the first heading among the blocks of a card, or else of its first paragraph. */
export function linkTitle(nodes: readonly RootContent[], url: string): void {
  const titles = titlesIn(nodes);
  const meant =
    titles.find(({ type }) => type === 'heading') ??
    titles.find(({ children }) => !children.every(({ type }) => type === 'image')) ??
    titles[0];
  if (meant !== undefined)
    meant.children = [{ type: 'link', url, children: meant.children.filter(isNoLink) }];
}
