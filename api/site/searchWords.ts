/** Words without which a question means the same. */
const STOP_WORDS = new Set(
  (
    'a about an and any are as at back be by can do does for from get how i if in into is it its like make me my need of on or our ' +
    'out please so that the their there this to use using want was we what when where which who why will with work would you your'
  ).split(' '),
);

/** Words with the same meaning: who asks for one of them means the others too. */
const SYNONYMS: readonly string[] = [
  'refund reimburse moneyback',
  'price pricing cost fee expensive cheap rate',
  'buy purchase pay payment checkout card',
  'invoice receipt bill vat tax',
  'sdk library package client wrapper npm pip',
  'retry repeat again backoff resend',
  'duplicate twice double idempotency',
  'screenshot capture snapshot screengrab',
  'picture image photo photograph',
  'key token credential',
  'login signin authenticate authentication',
  'limit quota throttle maximum',
  'budget spending cap',
  'timeout deadline slow',
  'error failure exception code',
  'delete remove close',
  'webhook hook notification',
  'callback notification',
  'job async asynchronous background queue batch',
  'agent ai llm mcp claude chatgpt cursor copilot assistant',
  'certificate cert ssl tls https',
  'mail email smtp',
  'dns domain nameserver mx',
  'scrape crawl extract',
  'enlarge upscale bigger resolution',
  'broken dead 404',
  'whitelist allowlist allowed network firewall',
  'rotate renew replace regenerate',
  'docx doc word odt rtf',
  'stored storage retention privacy gdpr kept',
  'deploy install production',
  'monitor monitoring metrics prometheus grafana',
  'compatible breaking deprecation',
  'save download',
];

/** Words by which visitors look for a page without its own text having them. */
const TOPICS: Readonly<Record<string, string>> = {
  '/docs/quickstart': 'getting started hello world first call example curl tutorial begin',
  '/docs/reference': 'swagger openapi postman rest endpoints operations methods',
  '/docs/authentication':
    'ip whitelist api key bearer header leaked stolen scope permission 401 unauthorized',
  '/docs/retries': 'retry repeat error 5xx 500 503 backoff exception handling',
  '/docs/idempotency': 'duplicate twice double charge safe repeat',
  '/docs/jobs': 'async background queue long running polling callback later',
  '/docs/batches': 'bulk many thousands list urls at once csv spreadsheet import',
  '/docs/schedules': 'cron daily nightly weekly hourly every day repeat monitor watch page changes alert',
  '/docs/files': 'save png jpeg pdf image download binary base64 upload bytes disk',
  '/docs/rate-limits': '429 too many requests throttle quota per second concurrency parallel',
  '/docs/billing':
    'refund money invoice receipt vat tax credits charged payment balance top-up automatic recharge failed',
  '/docs/receipts': 'proof signature verify jws jwks ed25519 digest audit',
  '/pricing': 'price cost how much expensive plan money monthly calculator credits buy pack free tier',
  '/docs/webhooks': 'webhook signature verify notification low credits event endpoint hmac',
  '/docs/account':
    'delete account close export data budget key limit spending ip whitelist networks password passkey two-factor',
  '/docs/clients':
    'sdk library npm pip install javascript typescript python java ruby php go golang command line cli n8n github actions postman',
  '/docs/agents': 'ai llm mcp claude chatgpt cursor copilot codex gemini assistant oauth',
  '/docs/errors': 'error codes status 400 401 402 403 404 422 429 500',
  '/docs/limits': 'timeout maximum size upload body slow how long megabytes',
  '/docs/versioning': 'breaking changes compatible deprecation version',
  '/docs/security': 'data stored retention privacy gdpr encryption secrets',
  '/docs/changelog': 'what is new release notes history rss atom feed',
  '/docs/operations': 'backup restore deploy install docker kubernetes helm monitoring upgrade mail stripe',
  '/docs/configuration': 'environment variables settings env options',
  '/docs/capacity': 'hardware machines sizing scale throughput how many servers',
  '/docs/tools/website-screenshot': 'pdf from html url to image web page picture full page capture print',
  '/docs/tools/html-to-image': 'html css render template social card og image receipt certificate',
  '/docs/tools/word-to-pdf': 'docx convert office document libreoffice',
  '/docs/tools/ssl-check': 'certificate expiry expires https chain',
  '/docs/tools/dns-lookup': 'mx txt spf cname a record nameserver',
  '/docs/tools/smtp-test': 'mail server spf dkim dmarc deliverability starttls',
  '/docs/tools/bcrypt-hash': 'hash password store',
  '/docs/tools/image-upscale': 'enlarge photo resolution bigger sharpen super resolution',
  '/docs/tools/broken-links': 'dead links 404 checker crawl',
  '/docs/tools/qr-generate': 'qrcode barcode',
  '/docs/tools/web-scrape': 'crawl extract text markdown content parse',
  '/docs/tools/seo-meta': 'open graph title description preview tags',
  '/docs/tools/http-request': 'fetch proxy headers status redirect',
  '/docs/tools/ping': 'latency uptime reachable host',
  '/docs/tools/hash-text': 'sha256 md5 checksum digest',
  '/docs/tools/watermark-image': 'logo copyright text overlay',
  '/docs/tools/pdf-metadata': 'pages author count encrypted',
  '/docs/tools/gold-price': 'silver precious metal ounce currency rate',
};

/** Pages that mention everything, so that a word in them says little. */
const OVERVIEWS = new Set(['/docs', '/docs/tools', '/docs/changelog', '/docs/glossary']);

/** The weight of a page among the results. */
export const weightOf = (path: string): number => (OVERVIEWS.has(path) ? 0.5 : 1);

/** Endings, in the order in which they are tried, with what replaces them. */
const ENDINGS: readonly [RegExp, string][] = [
  [/ies$/, 'y'],
  [/(?<=s|sh|ch|x)es$/, ''],
  [/(?<=[^su])s$/, ''],
];
const SUFFIX = /(?:ing|ed|e)$/;
/** Shortest word that is reduced, and shortest stem. */
const REDUCED = 5;
const SHORTEST_STEM = 3;

/** Reduces a word to a form that its plural and its participles share. Names with digits or punctuation stay as they are. */
export function stemOf(word: string): string {
  if (word.length < REDUCED || !/^\p{L}+$/u.test(word)) return word;
  const [ending, replacement] = ENDINGS.find(([pattern]) => pattern.test(word)) ?? [/$/, ''];
  const singular = word.replace(ending, replacement);
  const stem = singular.replace(SUFFIX, '');
  return stem.length < SHORTEST_STEM ? singular : stem;
}

const ALTERNATIVES: ReadonlyMap<string, readonly string[]> = (() => {
  const byWord = new Map<string, string[]>();
  for (const group of SYNONYMS) {
    const stems = group.split(' ').map(stemOf);
    for (const stem of stems)
      byWord.set(stem, [...(byWord.get(stem) ?? []), ...stems.filter((other) => other !== stem)]);
  }
  return byWord;
})();

/** Stems of other words with the meaning of a stem. */
export const synonymsOf = (stem: string): readonly string[] => ALTERNATIVES.get(stem) ?? [];

/** Words by which visitors look for a page, in addition to its own; '' if there are none. */
export const topicsOf = (path: string): string => TOPICS[path] ?? '';

/** The words of a question that carry its meaning; all of them if none does. */
export function meaningful(words: readonly string[]): readonly string[] {
  const kept = words.filter((word) => !STOP_WORDS.has(word));
  return kept.length === 0 ? words : kept;
}
