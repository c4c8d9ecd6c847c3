import { decodePage } from '../html/decode.ts';

/** A part of a MIME message (RFC 2045), with its content decoded. */
interface MimePart {
  type: string;
  id: string;
  location: string;
  content: Buffer;
}

/** Maximum nesting of multipart content. */
const DEPTH = 5;

function decodeQuotedPrintable(text: string): Buffer {
  const joined = text.replace(/=[ \t]*\r?\n/g, '');
  return Buffer.from(
    joined.replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
}

function decodeContent(body: string, encoding: string): Buffer {
  if (encoding === 'base64') return Buffer.from(body, 'base64');
  return encoding === 'quoted-printable' ? decodeQuotedPrintable(body) : Buffer.from(body, 'latin1');
}

/** Reads the parts of a message. @param message its bytes as Latin-1 */
function readParts(message: string, depth = 0): MimePart[] {
  const gap = /\r?\n\r?\n/.exec(message);
  if (gap === null || depth > DEPTH) return [];
  const head = message.slice(0, gap.index).replace(/\r?\n[ \t]+/g, ' ');
  const body = message.slice(gap.index + gap[0].length);
  const fields = new Map(
    head.split(/\r?\n/).map((line) => {
      const [name = ''] = line.split(':', 1);
      return [name.toLowerCase(), line.slice(name.length + 1).trim()] as const;
    }),
  );
  const header = (name: string) => fields.get(name) ?? '';
  const type = header('content-type');
  const boundary = /boundary="?([^";]+)/i.exec(type)?.[1]?.trim();
  if (boundary !== undefined) {
    const [, ...parts] = `\n${body}`.split(`\n--${boundary}`);
    return parts
      .filter((part) => !part.startsWith('--'))
      .flatMap((part) => readParts(part.replace(/^[ \t]*\r?\n/, ''), depth + 1));
  }
  return [
    {
      type,
      id: header('content-id').replace(/^<|>$/g, ''),
      location: header('content-location'),
      content: decodeContent(body, header('content-transfer-encoding').toLowerCase()),
    },
  ];
}

/** Returns the page of an MHTML file (RFC 2557), in which its pictures are `data:` URLs. '' when it has no page. */
export function readMhtml(bytes: Buffer): string {
  const parts = readParts(bytes.toString('latin1').trimStart());
  const page = parts.find(({ type }) => /^text\/html|^$/i.test(type));
  if (page === undefined) return '';
  let html = decodePage(page.content, page.type === '' ? null : page.type);
  for (const { type, id, location, content } of parts) {
    if (!/^image\//i.test(type)) continue;
    const url = `data:${type.split(';')[0]};base64,${content.toString('base64')}`;
    if (location !== '') html = html.replaceAll(location, url);
    if (id !== '') html = html.replaceAll(`cid:${id}`, url);
  }
  return html;
}
