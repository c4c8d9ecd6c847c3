/// <reference lib="dom" />
import type { OverlayPatterns } from '../../overlayPatterns.ts';
import { floats, liesOver } from './judge.ts';
import { boxOf, picturesIn, wholeOf } from './sight.ts';
import { everythingIn, parentOf, textOf, type Words } from './text.ts';

// These run in the page, where they know each other by their names.

/** Takes an element out of the page. */
export function hide(element: HTMLElement): void {
  if (element instanceof HTMLDialogElement) element.close();
  element.style.setProperty('display', 'none', 'important');
}

/** What holds nothing any more, such as the frame of a dialog, is of no use either. */
export function hideEmptied(element: Element): void {
  for (let above = parentOf(element); above instanceof HTMLElement; above = parentOf(above)) {
    if (above === document.body || !floats(above) || textOf(above) !== '' || picturesIn(above) > 0) return;
    if (above.querySelector('iframe') !== null) return;
    hide(above);
  }
}

/**
 * Hides what lies over a page and is not part of it, by what such things have in common whoever made them. Consent walls,
 * newsletter and promotion dialogs, and bars that stay in the window ask something or advertise, can be closed or answered,
 * and leave the page complete without them; headers, side bars, menus and whole applications that are fixed as well do not.
 *
 * @param json an `OverlayPatterns`
 * @returns how many elements it has hidden
 */
export function hideOverlayElements(json: string): number {
  const patterns: OverlayPatterns = JSON.parse(json);
  const look = (source: string) => new RegExp(source, 'u');
  const words: Words = {
    cookie: look(patterns.cookie),
    uses: look(patterns.uses),
    privacy: look(patterns.privacy),
    accept: look(patterns.accept),
    reject: look(patterns.reject),
    manage: look(patterns.manage),
    proceed: look(patterns.proceed),
    close: look(patterns.close),
    promotion: look(patterns.promotion),
  };
  const frames = everythingIn(document).flatMap((each) =>
    each instanceof HTMLIFrameElement && boxOf(each).share > 0.5 ? (each.contentDocument ?? []) : [],
  );
  let hidden = 0;
  for (const { body } of [document, ...frames]) {
    if (body === null) continue;
    let whole = wholeOf(body);
    // What lies within is judged first: a page that holds a banner is not one.
    for (const element of everythingIn(body).reverse()) {
      const view = element.ownerDocument.defaultView;
      if (view === null || element.ownerDocument !== body.ownerDocument) continue;
      if (!(element instanceof view.HTMLElement) || !liesOver(element, whole, words)) continue;
      whole = { ...whole, length: whole.length - textOf(element).length };
      hide(element);
      hideEmptied(element);
      hidden += 1;
    }
  }
  return hidden;
}
