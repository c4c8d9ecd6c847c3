/** The page with prices and a calculator. */
export const PRICING_PATH = '/pricing';
