/// <reference lib="dom" />

// Each function is sent to the page as source code and runs there on its own, so it must contain everything it uses.

/** Attribute that the root element has while the page is scrolled through and captured. */
export const SCROLLING = 'data-capture-scrolling';

export function markScrolling(mark: string): void {
  document.documentElement.setAttribute(mark, '');
}

/**
 * Runs in the page before the page's own scripts. While the root element has the attribute `mark`, intersection
 * observers do not report elements that leave the viewport: a page that reveals blocks in the viewport would otherwise
 * hide the others again.
 */
export function suppressLeaving(mark: string): void {
  const Native = window.IntersectionObserver;
  const isLeaving = (
    { target, isIntersecting, intersectionRatio }: IntersectionObserverEntry,
    most: WeakMap<Element, number>,
  ) => {
    const least = most.get(target) ?? 0;
    if (intersectionRatio > least) most.set(target, intersectionRatio);
    return !isIntersecting || intersectionRatio < least;
  };
  class KeepingObserver extends Native {
    constructor(callback: IntersectionObserverCallback, options?: IntersectionObserverInit) {
      /** The largest intersection ratio reported so far, by element. */
      const most = new WeakMap<Element, number>();
      super((entries, observer) => {
        const isMarked = document.documentElement?.hasAttribute(mark) === true;
        const kept = isMarked ? entries.filter((entry) => !isLeaving(entry, most)) : entries;
        if (kept.length > 0) callback.call(observer, kept, observer);
      }, options);
    }
  }
  Object.defineProperty(KeepingObserver, 'name', { value: Native.name });
  window.IntersectionObserver = KeepingObserver;
}
