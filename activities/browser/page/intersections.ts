/// <reference lib="dom" />

// Each function runs in the page by itself, so it contains everything it uses.

/** Attribute of the root element while the page is scrolled through and captured. */
export const SCROLLING = 'data-capture-scrolling';

export function markScrolling(mark: string): void {
  document.documentElement.setAttribute(mark, '');
}

/**
 * Runs in the page, before its own scripts. While the page is marked, intersection observers report no element that has
 * left or is leaving: pages that reveal blocks in the window would hide all others again.
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
      /** The largest reported ratios. */
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
