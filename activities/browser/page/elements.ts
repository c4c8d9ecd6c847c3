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
export function flatParentOf(element: Element): HTMLElement | null {
  const root = element.getRootNode();
  const parent = element.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
  // `assignedSlot` is null for a slot in a closed root.
  const slots =
    parent === element.parentElement && parent !== null
      ? shadowRootOf(parent)?.querySelectorAll('slot')
      : undefined;
  const slot = [...(slots ?? [])].find((each) => each.assignedElements().includes(element));
  const found = slot ?? parent;
  return found instanceof HTMLElement ? found : null;
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
