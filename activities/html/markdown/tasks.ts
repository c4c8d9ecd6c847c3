import { type Element, isTag, isText } from 'domhandler';

/** Elements that stand for checkboxes: of Font Awesome in AsciiDoc, Discourse and Notion. */
const BOX = /(?:^|\s)(?:checkbox-o(?:n|ff)|chcklst-box|fa-(?:check-)?square(?:-o)?)(?:\s|$)/;
const CHECKED = /(?:^|\s)(?:checkbox-on|checked|fa-check-square(?:-o)?)(?:\s|$)/;

/** Returns the state that an element has as a checkbox; null when it is none. */
function boxState({ name, attribs }: Element): boolean | null {
  const { class: classes = '' } = attribs;
  if (name === 'input') return /^checkbox$/i.test(attribs.type ?? '') ? 'checked' in attribs : null;
  if (attribs.role === 'checkbox') return attribs['aria-checked'] === 'true';
  return BOX.test(classes) ? CHECKED.test(classes) : null;
}

/** Returns the state of the checkbox that begins the content of an element. */
function firstBox(element: Element): boolean | null {
  for (const child of element.children) {
    if (isText(child) && child.data.trim() !== '') return null;
    if (!isTag(child)) continue;
    const state = boxState(child);
    if (state !== null) return state;
    if (/^(?:input|ul|ol|table|pre)$/.test(child.name)) return null;
    const inside = firstBox(child);
    if (inside !== null) return inside;
    // An empty element, such as a button that a script makes, may precede the box.
    if (child.children.length > 0) return null;
  }
  return null;
}

/** Returns whether a list item is a task that is done; null when it is no task. Also reads the attributes of Tiptap and Quill. */
export function taskState(item: Element): boolean | null {
  const list = item.parent !== null && isTag(item.parent) ? item.parent.attribs : {};
  const isTask = item.attribs['data-type'] === 'taskItem' || list['data-type'] === 'taskList';
  const stated =
    (isTask ? item.attribs['data-checked'] : list['data-checked']) ?? item.attribs['data-list'] ?? '';
  if (/^(?:true|checked)$/.test(stated)) return true;
  return /^(?:false|unchecked)$/.test(stated) ? false : firstBox(item);
}

/** Whether the items of an `ol` have no numbers, as Quill writes its lists. */
export const isQuillList = ({ children }: Element): boolean =>
  /^(?:bullet|checked|unchecked)$/.test(children.find(isTag)?.attribs['data-list'] ?? '');
