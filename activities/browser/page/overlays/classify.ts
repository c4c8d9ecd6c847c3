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

/**
 * Whether an element that floats over the page is an overlay, as opposed to a part of the page such as a header or a
 * menu.
 */
export function isOverlay(candidate: Candidate, words: Words): boolean {
  if (isOnlyContent(candidate)) return false;
  if (isForeignFrame(candidate) || isBackdrop(candidate.element)) return true;
  const consent = asksConsent(candidate, words);
  if (isStickySection(candidate) || isStickyHeading(candidate)) return false;
  if (containsMainContent(candidate, consent)) return false;
  if (isNavigation(candidate))
    return (
      (consent &&
        candidate.links <= 3 &&
        !containsAny(candidate, 'nav, [role="navigation"], [role="search"]')) ||
      (isDialog(candidate) && isInterstitial(candidate))
    );
  return (
    consent ||
    isPromotion(candidate, words) ||
    isInterstitial(candidate) ||
    isLargeBanner(candidate) ||
    hasOverlayName(candidate)
  );
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

export function isVisibleOverlay(element: Element, content: PageContent, words: Words): boolean {
  const floating = isPositionedOver(element);
  if (!floating && !isConsentBannerInFlow(element)) return false;
  if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
  // An element with more than 5,000 characters of text is content: overlays have less text.
  if (visibleTextOf(element).length > 5_000) return false;
  const candidate = describeCandidate(element, content, words);
  const { position } = candidate.style;
  if (floating && (position !== 'absolute' || candidate.covers || candidate.blocked))
    return isOverlay(candidate, words);
  const consent = asksConsent(candidate, words);
  return consent && !isOnlyContent(candidate) && !containsMainContent(candidate, consent);
}
