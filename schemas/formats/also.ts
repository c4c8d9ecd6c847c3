import { certificate, issuerCertificate, validity } from './certificateFields.ts';
import { LINKS_TEXT, link, PAGE_METADATA, pageMetadata, TEXT_CODE_POINTS } from './pageParts.ts';

/** Parts of the page that website-screenshot can return beside its picture. */
export const PARTS = ['text', 'links', 'metadata', 'certificate'] as const;
export type Part = (typeof PARTS)[number];

const onlyWith = (part: Part): string => `Only with \`also: ["${part}"]\`, else null`;

/** Input field that asks for parts of the page. */
export const also = {
  type: 'array',
  items: { type: 'string', enum: PARTS },
  // Without `uniqueItems`, with which OpenAPI Generator's client for Java does not compile. A part named twice is returned once.
  maxItems: PARTS.length,
  default: [],
  description:
    'Parts of the page to return beside the picture, from the same load and for the same price. Text, links and metadata are read, as by ' +
    '`web-scrape` and `seo-meta`, from the document that the browser has made of the page, after its scripts have run. They are fields of the JSON; a response that is ' +
    'the picture itself is without them. A document of more than 5 MB of HTML or 750,000 nodes is then `source_too_large`.',
} as const;

/** Output fields with these parts. */
export const alsoFields = {
  text: {
    type: ['string', 'null'],
    description: `${onlyWith('text')}: visible text, with one line for each block. It is cut between words at ${TEXT_CODE_POINTS} characters (code points).`,
  },
  links: {
    type: ['array', 'null'],
    items: link,
    description: `${onlyWith('links')}. ${LINKS_TEXT}`,
  },
  metadata: {
    type: ['object', 'null'],
    properties: pageMetadata,
    required: PAGE_METADATA,
    additionalProperties: false,
    description: `${onlyWith('metadata')}: what the page says of itself to search engines and link previews.`,
  },
  certificate: {
    type: ['object', 'null'],
    properties: {
      ...certificate,
      ...validity,
      chain: {
        type: 'array',
        items: issuerCertificate,
        description:
          'Certificates of the issuers with which the browser has verified it, each of which signed the one before.',
      },
    },
    required: [
      'issuer',
      'subject',
      'validFrom',
      'validTo',
      'serialNumber',
      'fingerprint256',
      'daysRemaining',
      'lifetimeDays',
      'renewalDue',
      'subjectAlternativeNames',
      'chain',
    ],
    additionalProperties: false,
    description: `${onlyWith('certificate')}: the certificate of the connection over which the page came, which the browser has accepted. Also null for a page without TLS.`,
  },
} as const;
