/** Names of browsers; one that is built on another calls itself by that name too, so it stands before it. */
const BROWSERS = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /(?:Chrome|CriOS|Chromium)\//],
  ['Safari', /\bSafari\//],
] as const;
const SYSTEMS = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
] as const;
const LONGEST = 60;

/** What a User-Agent header says to people: `Firefox on Linux`; the header itself, shortened, where that is unknown. */
export function deviceOf(userAgent: string): string {
  const [browser, system] = [BROWSERS, SYSTEMS].map(
    (known) => known.find(([, pattern]) => pattern.test(userAgent))?.[0],
  );
  if (browser !== undefined) return system === undefined ? browser : `${browser} on ${system}`;
  const text = userAgent.trim();
  if (text === '') return 'Unknown';
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
