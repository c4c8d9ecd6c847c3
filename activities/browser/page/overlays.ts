/// <reference lib="dom" />

/**
 * Runs in the page: hides what lies over it and is not part of it, by what such things have in common whoever made them.
 * Consent walls, newsletter and promotion dialogs, and bars that stay in the window ask something or advertise, can be closed
 * or answered, and leave the page complete without them; headers, side bars, menus and whole applications that are fixed as well do not.
 *
 * @returns how many elements it has hidden
 */
export function hideOverlayElements(): number {
  const CONSENT =
    /\b(cookies?|consent|gdpr|ccpa|dsgvo|rgpd|privacy|datenschutz|einwilligung|confidentialité|privacidad|tracking|personal data|partners)\b/i;
  const ANSWER =
    /\b(accept|agree|allow|reject|decline|refuse|deny|got it|understood|ok|okay|continue|manage|preferences|settings|akzeptieren|zustimmen|ablehnen|einverstanden|verstanden|accepter|refuser|continuer|d'accord|aceptar|acepto|rechazar|aceitar|recusar|accetta|accetto|rifiuta|akkoord|accepteren|weigeren|godta|acceptera|neka|accepter|afvis|hyväksy|akceptuj|zgadzam|odrzuć|kabul|принять|согласен|同意|允许|承認|동의)(?![\p{L}])/iu;
  const PROMOTION =
    /\b(newsletter|subscribe|subscription|sign ?up|join (us|our|the)|inbox|mailing list|% ?off|discount|exclusive|special offer|offer ends|free trial|free shipping|don't miss|before you go|wait!|get the app|our app|in the app|install|notifications?|turn on|survey|feedback|abonnieren|anmelden|rabatt|inscri|suscr|iscriviti|remaining articles?|ad ?blocker|become a member|support us|donate|chat with us|need help)\b/i;
  const NAMES =
    /cookie|consent|gdpr|ccpa|cmp|onetrust|didomi|usercentrics|trustarc|quantcast|sp_message|newsletter|subscribe|popup|pop-up|modal|overlay|lightbox|interstitial|paywall|promo|banner|toast|snackbar|backdrop|adhesion|sticky-ad|chat-widget|intercom|drift|smart-?app/i;
  const CLOSE =
    /^(\s*[×✕✖✗⨯xX]\s*|close|dismiss|no,? thanks?.*|not now|maybe later|skip|later|schließen|fermer|cerrar|chiudi)$/i;

  /** Everything under a root, shadows included. */
  const all = (root: Document | Element | ShadowRoot): Element[] => {
    const shadow = root instanceof Element && root.shadowRoot !== null ? all(root.shadowRoot) : [];
    return [...shadow, ...[...root.children].flatMap((child) => [child, ...all(child)])];
  };
  const parentOf = (element: Element): Element | null => {
    const root = element.getRootNode();
    return element.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
  };
  const seen = (element: Element): boolean =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  /** The text of an element that is to be seen, shadows included. */
  const deep = (root: Element): string => {
    const texts = [root, ...all(root)].flatMap((element) => {
      const nodes = [...element.childNodes, ...(element.shadowRoot?.childNodes ?? [])];
      const text = nodes
        .filter((node) => node.nodeType === Node.TEXT_NODE)
        .map((node) => node.textContent ?? '');
      return text.some((part) => part.trim() !== '') && element.checkVisibility() ? text : [];
    });
    return texts.join(' ').replace(/\s+/g, ' ').trim();
  };
  const named = (element: Element): boolean =>
    [element, ...element.children].some((each) =>
      NAMES.test(`${each.id} ${each.getAttribute('class') ?? ''}`),
    );
  const within = (element: Element, selector: string): Element[] =>
    all(element).filter((each) => each.matches(selector));
  const buttons = (element: Element): string[] =>
    within(element, 'button, a, [role="button"], input[type="submit"], input[type="button"]').map(
      (button) =>
        button.getAttribute('aria-label') ?? button.getAttribute('value') ?? button.textContent?.trim() ?? '',
    );
  const canClose = (element: Element): boolean =>
    buttons(element).some((label) => CLOSE.test(label)) ||
    within(element, '[class*="close" i], [aria-label*="close" i]').length > 0;
  /** Headers, menus and side bars: what a page is found its way about with. */
  const isFurniture = (element: Element): boolean => {
    if (
      element.matches(
        'header, nav, aside, main, [role="navigation"], [role="banner"], [role="main"], [role="toolbar"]',
      )
    )
      return true;
    return (
      within(
        element,
        'nav, [role="navigation"], [role="search"], input[type="search"], main, [role="main"], table',
      ).length > 0
    );
  };

  const windowArea = innerWidth * innerHeight;
  const everything = deep(document.body);
  const isOverlay = (element: Element): boolean => {
    const style = getComputedStyle(element);
    const { left, top, right, bottom } = element.getBoundingClientRect();
    const width = Math.max(0, Math.min(right, innerWidth) - Math.max(left, 0));
    const height = Math.max(0, Math.min(bottom, innerHeight) - Math.max(top, 0));
    const text = deep(element);
    const share = (width * height) / windowArea;
    const modal = element.matches(
      'dialog[open], [aria-modal="true"], [role="dialog"], [role="alertdialog"], [popover]:popover-open',
    );
    const empty =
      everything.length - text.length < 20 &&
      document.body.querySelectorAll('img, video, canvas').length === 0;
    // A page that is nothing but this is this.
    if (text.length > 0 && empty) return false;
    const covers = width >= 0.9 * innerWidth && height >= 0.9 * innerHeight;
    const frame = element.matches('iframe') || (text === '' && within(element, 'iframe').length > 0);
    if (frame) return (covers && style.zIndex !== 'auto') || (named(element) && share > 0.02);
    const consent =
      CONSENT.test(text) && buttons(element).some((label) => ANSWER.test(label) || CLOSE.test(label));
    const asksAddress =
      within(element, 'input[type="email"], input[name*="mail" i], input[placeholder*="mail" i]').length > 0;
    const promotion = PROMOTION.test(text) && (canClose(element) || asksAddress);
    if (covers) {
      const background = style.backgroundColor.match(/[\d.]+/g)?.map(Number) ?? [];
      const veil =
        (background.length === 4 && (background[3] ?? 1) > 0 && (background[3] ?? 1) < 1) ||
        style.backdropFilter !== 'none';
      if (veil && text.length === 0) return true;
      if (isFurniture(element)) return false;
      return (
        (veil && (canClose(element) || modal)) ||
        consent ||
        promotion ||
        (named(element) && canClose(element))
      );
    }
    if (modal && (share > 0.03 || consent))
      return !isFurniture(element) || element.matches('dialog:modal, [aria-modal="true"]');
    if (isFurniture(element)) return consent && named(element) && !element.matches('main, [role="main"]');
    if (consent || promotion) return text.length < 3_000;
    // In the middle of the window, over the page.
    const central =
      left <= innerWidth / 2 &&
      right >= innerWidth / 2 &&
      top <= innerHeight / 2 &&
      bottom >= innerHeight / 2;
    if (style.position === 'fixed' && central && canClose(element)) return true;
    const atBottom = bottom >= innerHeight - 30 && width >= innerWidth / 2;
    return (
      style.position === 'fixed' &&
      named(element) &&
      (canClose(element) || (atBottom && buttons(element).length > 0) || (atBottom && share > 0.2))
    );
  };

  const floats = (element: Element): boolean => {
    const { position, zIndex } = getComputedStyle(element);
    if (position === 'fixed' || position === 'sticky') return true;
    if (element.matches('dialog[open], [popover]:popover-open, [aria-modal="true"]')) return true;
    return (
      position === 'absolute' &&
      Number(zIndex) >= 100 &&
      element.getBoundingClientRect().height >= 0.9 * innerHeight
    );
  };
  let hidden = 0;
  for (const element of all(document)) {
    if (
      !(element instanceof HTMLElement) ||
      element === document.body ||
      element === document.documentElement
    )
      continue;
    if (!seen(element) || !floats(element) || !isOverlay(element)) continue;
    if (element instanceof HTMLDialogElement) element.close();
    element.style.setProperty('display', 'none', 'important');
    hidden += 1;
    // What holds nothing else any more, such as the frame of a dialog, is of no use either.
    for (
      let above = parentOf(element);
      above instanceof HTMLElement && above !== document.body;
      above = parentOf(above)
    ) {
      if (deep(above) !== '' || !floats(above) || above.querySelector('img, video, canvas, iframe') !== null)
        break;
      above.style.setProperty('display', 'none', 'important');
    }
  }
  return hidden;
}

/** Runs in the page: gives back what overlays take away from a page while they are shown. */
export function unlockPage(): void {
  for (const element of [document.documentElement, document.body]) {
    const style = getComputedStyle(element);
    if (style.overflowY === 'hidden' || style.overflowY === 'clip')
      element.style.setProperty('overflow', 'visible', 'important');
    if (style.position === 'fixed') {
      element.style.setProperty('position', 'static', 'important');
      element.style.setProperty('width', 'auto', 'important');
    }
    if (style.touchAction === 'none') element.style.setProperty('touch-action', 'auto', 'important');
    if (style.height === `${innerHeight}px` && element.scrollHeight > innerHeight)
      element.style.setProperty('height', 'auto', 'important');
  }
  for (const element of document.querySelectorAll<HTMLElement>('body, body > *, body > * > *')) {
    const { filter } = getComputedStyle(element);
    if (filter.includes('blur(')) element.style.setProperty('filter', 'none', 'important');
    element.inert = false;
  }
}
