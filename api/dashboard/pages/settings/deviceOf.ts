/** Browser names. A derived browser also sends the name of its base, so it comes first. */
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

/** Describes a User-Agent header: `Firefox on Linux`. Unknown headers are shortened. */
export function deviceOf(userAgent: string): string {
  const [browser, system] = [BROWSERS, SYSTEMS].map(
    (known) => known.find(([, pattern]) => pattern.test(userAgent))?.[0],
  );
  if (browser !== undefined) return system === undefined ? browser : `${browser} on ${system}`;
  const text = userAgent.trim();
  if (text === '') return 'Unknown';
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
