/** The page with prices and a calculator. */
export const PRICING_PATH = '/pricing';

export const CHANGELOG_PATH = '/docs/changelog';
/** The changelog as an Atom feed. */
export const CHANGELOG_FEED = `${CHANGELOG_PATH}.atom`;
