import { isRecord } from '../../schemas/isRecord.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import { type Html, html } from '../dashboard/frame/html.ts';

/** A line of a card: the label, and the path of the field in the tool's example, such as `links.0.url`. */
type Line = readonly [label: string, path: string];

/** What the cards of tools without a picture show of their example's result. */
const LINES: Readonly<Record<string, readonly Line[]>> = {
  'web-scrape': [
    ['Title', 'title'],
    ['Text', 'text'],
    ['First link', 'links.0.url'],
    ['Words', 'wordCount'],
  ],
  'seo-meta': [
    ['Title', 'title'],
    ['Address', 'url'],
    ['First heading', 'headings.0.text'],
    ['Words', 'wordCount'],
  ],
  'broken-links': [
    ['Links checked', 'checked'],
    ['Broken', 'links.0.url'],
    ['Why', 'links.0.explanation'],
  ],
  'http-request': [
    ['Status', 'statusCode'],
    ['Content type', 'headers.content-type'],
    ['Time', 'elapsedMs'],
  ],
  'dns-lookup': [
    ['Name', 'hostname'],
    ['Record type', 'recordType'],
    ['First mail server', 'records.0.exchange'],
    ['Second', 'records.1.exchange'],
  ],
  'ssl-check': [
    ['Host', 'host'],
    ['Trusted', 'chainValid'],
    ['Days left', 'daysRemaining'],
    ['Names', 'subjectAlternativeNames'],
    ['Protocol', 'protocol'],
  ],
  'smtp-test': [
    ['Greeting', 'steps.1.reply'],
    ['Encryption', 'encryption'],
    ['Sign-in methods', 'authMechanisms'],
    ['Extensions', 'extensions'],
  ],
  ping: [
    ['Address', 'resolvedIp'],
    ['Answered', 'received'],
    ['Sent', 'sent'],
    ['Average time', 'avgMs'],
  ],
  'pdf-metadata': [
    ['Title', 'title'],
    ['Author', 'author'],
    ['Pages', 'pageCount'],
    ['Encrypted', 'encrypted'],
  ],
  'hash-text': [['SHA-256', 'hash']],
  'bcrypt-hash': [['Hash', 'hash']],
  'bcrypt-verify': [['Password matches', 'matches']],
  'argon2-verify': [['Password matches', 'matches']],
  'gold-price': [
    ['Ounce', 'pricePerOunce'],
    ['Gram', 'pricePerGram'],
    ['Gram of 18 karat', 'karats.4.pricePerGram'],
    ['Currency', 'currency'],
  ],
};

/** Lines of a card of a tool that is not listed above. */
const OTHER_LINES = 4;
/** Longest text of a line; of a longer one, only its first sentence is shown. */
const LINE_CHARACTERS = 90;

/** `pageCount` as `Page count`. */
export const inWords = (field: string): string => {
  const words = field.replaceAll(/([A-Z])/g, ' $1').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

function valueAt(value: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (at, name) => (Array.isArray(at) ? at[Number(name)] : isRecord(at) ? at[name] : undefined),
      value,
    );
}

const NUMBER = new Intl.NumberFormat('en', { maximumFractionDigits: 2 });

/** Writes a value as a person would; null if it is neither text nor a number, a truth value or a list of these. */
function written(value: unknown, path: string): string | null {
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (typeof value === 'number') return `${NUMBER.format(value)}${/Ms$/.test(path) ? ' ms' : ''}`;
  if (Array.isArray(value))
    return value.every((item) => typeof item === 'string') ? value.join(', ') : NUMBER.format(value.length);
  if (typeof value !== 'string' || value === '') return null;
  const [first = value] = value.trim().split(/\n|(?<=\.) /);
  return value.length > LINE_CHARACTERS ? first : value;
}

/** The result of a tool's example in words, as a small table. */
export function cardResult({ name, examples, output }: ToolDefinition): Html {
  const example: unknown = examples[0]?.output ?? {};
  const isText = (field: string) => output.properties[field]?.contentEncoding === undefined;
  const others = Object.keys(output.properties)
    .filter((field) => isText(field) && field !== 'fileBase64')
    .map((field): Line => [inWords(field), field]);
  const lines = (LINES[name] ?? others).flatMap(([label, path]) => {
    const text = written(valueAt(example, path), path);
    return text === null ? [] : [{ label, text }];
  });
  return html`<dl class="output">
${lines.slice(0, LINES[name]?.length ?? OTHER_LINES).map(
  ({ label, text }) => html`<div><dt>${label}</dt><dd><bdi>${text}</bdi></dd></div>
`,
)}</dl>`;
}
