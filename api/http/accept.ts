interface Range {
  type: string;
  quality: number;
}

function parse(header: string): Range[] {
  return header.split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    const quality = q === undefined ? 1 : Number(q.slice(2));
    return { type, quality: quality >= 0 && quality <= 1 ? quality : 0 };
  });
}

/**
 * Returns the quality value of a media type in an Accept header (RFC 9110, section 12.5.1), which is that of the most
 * specific matching range.
 */
function qualityOf(mediaType: string, ranges: readonly Range[]): number {
  const [kind] = mediaType.split('/');
  for (const pattern of [mediaType, `${kind}/*`, '*/*']) {
    const range = ranges.find(({ type }) => type === pattern);
    if (range !== undefined) return range.quality;
  }
  return 0;
}

/** Whether the Accept header ranks `mediaType` above JSON. An absent header, a wildcard and a tie all select JSON. */
export function prefersRaw(header: string | undefined, mediaType: string): boolean {
  if (header === undefined || header === '') return false;
  const ranges = parse(header);
  return qualityOf(mediaType, ranges) > qualityOf('application/json', ranges);
}
