/// <reference lib="dom" />
import { boxOf, countImages, liesUnderContent, measureContent } from './candidate.ts';
import { isPositionedOver, type OverlayKind, visibleOverlayKind } from './classify.ts';
import { compileWords, elementsIn, parentOf, visibleTextOf } from './text.ts';

// These functions run in the page, where they are defined under their names and call each other. Names must therefore
// be unique in this folder.

/** Hides an element. If it is a dialog, closes it first. */
export function hide(element: HTMLElement): void {
  if (element instanceof HTMLDialogElement) element.close();
  element.style.setProperty('display', 'none', 'important');
}

/** Hides those floating ancestors of a hidden element that have no content left, such as the box around a dialog. */
export function hideEmptied(element: Element): void {
  for (let above = parentOf(element); above instanceof HTMLElement; above = parentOf(above)) {
    if (
      above === document.body ||
      !isPositionedOver(above) ||
      visibleTextOf(above) !== '' ||
      countImages(above) > 0
    )
      return;
    if (above.querySelector('iframe') !== null) return;
    hide(above);
  }
}

/**
 * Hides overlays by heuristics that do not depend on the product that shows the overlay. An overlay is a consent wall,
 * a newsletter or promotion dialog, or a fixed banner: it asks for something or advertises, can be closed or answered,
 * and leaves a complete page behind. Fixed headers, side bars, menus and whole applications are not overlays and stay
 * visible.
 *
 * @param json an `OverlayPatterns` object as JSON
 * @returns the kind of each hidden element, in the order in which they were hidden
 */
export function hideOverlayElements(json: string): OverlayKind[] {
  const words = compileWords(json);
  const frames = elementsIn(document).flatMap((each) =>
    each instanceof HTMLIFrameElement && boxOf(each).share > 0.5 ? (each.contentDocument ?? []) : [],
  );
  const hidden: OverlayKind[] = [];
  for (const { body } of [document, ...frames]) {
    if (body === null) continue;
    let content = measureContent(body);
    const backdrops: HTMLElement[] = [];
    // Descendants are classified and hidden before their ancestors, so that no ancestor counts as an overlay only
    // because it contains one.
    for (const element of elementsIn(body).reverse()) {
      const view = element.ownerDocument.defaultView;
      if (view === null || element.ownerDocument !== body.ownerDocument) continue;
      if (!(element instanceof view.HTMLElement)) continue;
      const kind = visibleOverlayKind(element, content, words);
      if (kind === null) continue;
      if (kind === 'backdrop') {
        backdrops.push(element);
        continue;
      }
      content = { ...content, length: content.length - visibleTextOf(element).length };
      hide(element);
      hideEmptied(element);
      hidden.push(kind);
    }
    // The backdrop of a dialog that stays is a part of the page.
    for (const backdrop of backdrops.filter((each) => !liesUnderContent(each))) {
      hide(backdrop);
      hideEmptied(backdrop);
      hidden.push('backdrop');
    }
  }
  return hidden;
}
