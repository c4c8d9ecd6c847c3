/// <reference lib="dom" />

// These functions are sent along with every function that runs in the isolated world of a page, and may be called there.

/** Runs on a shadow root or a node in it: lets `shadowRootOf` find the root in this isolated world. */
export function rememberClosedRoot(this: Node): void {
  const root = this.getRootNode();
  if (!(root instanceof ShadowRoot)) return;
  const known: unknown = Reflect.get(globalThis, 'captureClosedRoots');
  const roots = known instanceof WeakMap ? known : new WeakMap();
  roots.set(root.host, root);
  Reflect.set(globalThis, 'captureClosedRoots', roots);
}

/** Returns the shadow root of an element: an open one, or a closed one that `rememberClosedRoot` knows. */
export function shadowRootOf(element: Element): ShadowRoot | null {
  const known: unknown = Reflect.get(globalThis, 'captureClosedRoots');
  const root: unknown = known instanceof WeakMap ? known.get(element) : null;
  return root instanceof ShadowRoot ? root : element.shadowRoot;
}

/** Returns all elements below a node in document order, including those in shadow roots. */
export function elementsBelow(root: Document | ShadowRoot | Element): HTMLElement[] {
  const found: HTMLElement[] = [];
  const add = (parent: Document | ShadowRoot | Element): void => {
    for (const element of parent.querySelectorAll<HTMLElement>('*')) {
      found.push(element);
      const shadow = shadowRootOf(element);
      if (shadow !== null) add(shadow);
    }
  };
  const own = root instanceof Element ? shadowRootOf(root) : null;
  if (own !== null) add(own);
  add(root);
  return found;
}

/** Returns the parent in the flat tree (CSS Scoping, section 4.1): that of the slot for a slotted element, the host for a top element. */
export function flatParentOf(element: Element): Element | null {
  const root = element.getRootNode();
  const parent = element.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
  // `assignedSlot` is null for a slot in a closed root.
  const slots =
    parent === element.parentElement && parent !== null
      ? shadowRootOf(parent)?.querySelectorAll('slot')
      : undefined;
  const slot = [...(slots ?? [])].find((each) => each.assignedElements().includes(element));
  return slot ?? parent;
}

/** Returns the short texts, also those of images, between two vertical positions of the viewport in CSS pixels. */
export function textsBetween(above: number, below: number): Set<string> {
  const LONG = 200;
  const texts = elementsBelow(document).flatMap((element) => {
    if (element.childElementCount > 0) return [];
    const text = element instanceof HTMLImageElement ? element.alt : element.textContent.trim();
    if (text === '' || text.length > LONG) return [];
    const { top, bottom, width } = element.getBoundingClientRect();
    return bottom > Math.max(top, above) && top < below && width > 0 ? [text] : [];
  });
  return new Set(texts);
}

/** Returns the elements around an element in the flat tree, the nearest first, without those of SVG and MathML. */
export function elementsAround(element: Element): HTMLElement[] {
  const found: HTMLElement[] = [];
  for (let outer = flatParentOf(element); outer !== null; outer = flatParentOf(outer))
    if (outer instanceof HTMLElement) found.push(outer);
  return found;
}

/** Whether neither of two elements contains the other, also through shadow roots. */
export function isApart(element: Element, other: Element): boolean {
  const root = element.getRootNode();
  if (element.contains(other) || other.contains(element)) return false;
  return !(root instanceof ShadowRoot) || (!other.contains(root.host) && !root.host.contains(other));
}

/** Returns the box of an element without the parts that elements around it clip, relative to the viewport. */
export function shownPartOf(element: Element): { left: number; top: number; right: number; bottom: number } {
  let { left, top, right, bottom } = element.getBoundingClientRect();
  let { position } = getComputedStyle(element);
  for (
    let outer = flatParentOf(element);
    outer !== null && outer !== document.body;
    outer = flatParentOf(outer)
  ) {
    // The boxes of other elements of SVG do not clip.
    if (outer instanceof SVGElement && !(outer instanceof SVGSVGElement && outer.ownerSVGElement === null))
      continue;
    const style = getComputedStyle(outer);
    const isClip = /paint|strict|content/.test(style.contain);
    const isAnchor = style.transform !== 'none' || style.filter !== 'none' || isClip;
    const isContaining =
      position === 'fixed' ? isAnchor : position !== 'absolute' || isAnchor || style.position !== 'static';
    if (!isContaining) continue;
    position = style.position;
    const box = outer.getBoundingClientRect();
    if (isClip || style.overflowX !== 'visible') {
      left = Math.max(left, box.left + outer.clientLeft);
      right = Math.min(right, box.left + outer.clientLeft + outer.clientWidth);
    }
    if (isClip || style.overflowY !== 'visible') {
      top = Math.max(top, box.top + outer.clientTop);
      bottom = Math.min(bottom, box.top + outer.clientTop + outer.clientHeight);
    }
  }
  return { left, top, right, bottom };
}

/** Returns the element that matches the attribute selector `[mark]`, also in a shadow root. */
export function findMarked(mark: string): HTMLElement | null {
  return (
    document.querySelector<HTMLElement>(`[${mark}]`) ??
    elementsBelow(document).find((element) => element.matches(`[${mark}]`)) ??
    null
  );
}

/**
 * Adds style rules to the document and each of its shadow roots. A content security policy does not block sheets that
 * a script constructs.
 */
export function addStyles(css: string): void {
  const roots = [document, ...elementsBelow(document).flatMap((element) => shadowRootOf(element) ?? [])];
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  for (const root of roots) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}
