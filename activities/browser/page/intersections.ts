/// <reference lib="dom" />

// Each function is sent to the page as source code and runs there on its own, so it must contain everything it uses.

/** Attribute that the root element has while the page is scrolled through and captured. */
export const SCROLLING = 'data-capture-scrolling';
/** Value of that attribute until the end of the page is reached. */
export const DOWN = 'down';

export function markScrolling(mark: string, value: string): void {
  document.documentElement.setAttribute(mark, value);
}

/**
 * Runs in the page before the page's own scripts. While the root element has the attribute `mark`, intersection
 * observers do not report elements that leave the viewport: a page that reveals blocks in the viewport would otherwise
 * hide the others again. An element that has left and enters again on the way down is reported: a page loads more of an
 * endless list when the element at its end enters. The first report of an element that is observed
 * again is passed on too: many lists call `observe` for the element at their end after each load.
 */
export function suppressLeaving(mark: string, down: string): void {
  const Native = window.IntersectionObserver;
  /** State of an observed element: its largest intersection ratio so far, and whether it has left the viewport. */
  type Seen = WeakMap<Element, { most: number; outside: boolean }>;
  const isLeaving = (
    { target, isIntersecting, intersectionRatio }: IntersectionObserverEntry,
    seen: Seen,
    isDown: boolean,
  ) => {
    const { most, outside } = seen.get(target) ?? { most: 0, outside: false };
    seen.set(target, { most: Math.max(most, intersectionRatio), outside: !isIntersecting });
    return !isIntersecting || (intersectionRatio < most && !(isDown && outside));
  };
  const seenBy = new WeakMap<IntersectionObserver, Seen>();
  class KeepingObserver extends Native {
    constructor(callback: IntersectionObserverCallback, options?: IntersectionObserverInit) {
      super((entries, observer) => {
        const marked = document.documentElement?.getAttribute(mark) ?? null;
        const seen: Seen = seenBy.get(observer) ?? new WeakMap();
        seenBy.set(observer, seen);
        const kept =
          marked === null ? entries : entries.filter((entry) => !isLeaving(entry, seen, marked === down));
        if (kept.length > 0) callback.call(observer, kept, observer);
      }, options);
    }
    override unobserve(target: Element): void {
      seenBy.get(this)?.delete(target);
      super.unobserve(target);
    }
    override disconnect(): void {
      seenBy.delete(this);
      super.disconnect();
    }
  }
  Object.defineProperty(KeepingObserver, 'name', { value: Native.name });
  window.IntersectionObserver = KeepingObserver;
}
