/// <reference lib="dom" />

import { type Candidate, describeCandidate, isBackdrop, type PageContent } from './candidate.ts';
import { asksConsent } from './consent.ts';
import {
  containsAny,
  containsMainContent,
  isDialog,
  isNavigation,
  isOnlyContent,
  isStickyHeading,
  isStickySection,
} from './pageParts.ts';
import { hasOverlayName, isForeignFrame, isInterstitial, isLargeBanner, isPromotion } from './promotion.ts';
import { visibleTextOf, type Words } from './text.ts';

// These functions run in the page, where they are defined under their names and call each other. Names must therefore
// be unique in this folder.

/** Kinds of overlays, by the heuristic that recognises them. */
export type OverlayKind = 'backdrop' | 'banner' | 'consent' | 'dialog' | 'frame' | 'named' | 'promotion';

/**
 * Returns the kind of overlay that an element over the page is; null if it is a part of the page, such as a header or a
 * menu.
 */
export function overlayKind(candidate: Candidate, words: Words): OverlayKind | null {
  if (isOnlyContent(candidate)) return null;
  if (isForeignFrame(candidate)) return 'frame';
  if (isBackdrop(candidate.element)) return 'backdrop';
  const consent = asksConsent(candidate, words);
  if (isStickySection(candidate) || isStickyHeading(candidate)) return null;
  if (containsMainContent(candidate, consent)) return null;
  if (isNavigation(candidate)) {
    const isNotice =
      consent && candidate.links <= 3 && !containsAny(candidate, 'nav, [role="navigation"], [role="search"]');
    if (isNotice) return 'consent';
    return isDialog(candidate) && isInterstitial(candidate) ? 'dialog' : null;
  }
  if (consent) return 'consent';
  if (isPromotion(candidate, words)) return 'promotion';
  if (isInterstitial(candidate)) return 'dialog';
  if (isLargeBanner(candidate)) return 'banner';
  return hasOverlayName(candidate) ? 'named' : null;
}

/** Whether an element is fixed, sticky, a dialog, or raised above the page by its z-index. */
export function isPositionedOver(element: Element): boolean {
  const { position, zIndex } = getComputedStyle(element);
  if (position === 'fixed' || position === 'sticky') return true;
  if (position === 'absolute' && Number(zIndex) >= 100) return true;
  return element.matches('dialog[open], [popover]:popover-open, [aria-modal="true"]');
}

/** Whether an element is a consent banner in the normal flow at the top of the page, judging by its id or class. */
export function isConsentBannerInFlow(element: Element): boolean {
  if (!/cookie|consent|gdpr/i.test(`${element.id} ${element.getAttribute('class') ?? ''}`)) return false;
  const { top, width } = element.getBoundingClientRect();
  const onTop = top + scrollY < 50 && width > 0.8 * innerWidth;
  return (
    onTop && element.closest('main, article, [role="main"]') === null && visibleTextOf(element).length < 1_500
  );
}

/** Returns the kind of overlay that an element is; null if it is none, or not visible. */
export function visibleOverlayKind(element: Element, content: PageContent, words: Words): OverlayKind | null {
  const floating = isPositionedOver(element);
  if (!floating && !isConsentBannerInFlow(element)) return null;
  if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return null;
  // An element with more than 5,000 characters of text is content: overlays have less text.
  if (visibleTextOf(element).length > 5_000) return null;
  const candidate = describeCandidate(element, content, words);
  const { position } = candidate.style;
  if (floating && (position !== 'absolute' || candidate.covers || candidate.blocked))
    return overlayKind(candidate, words);
  const consent = asksConsent(candidate, words);
  return consent && !isOnlyContent(candidate) && !containsMainContent(candidate, consent) ? 'consent' : null;
}
