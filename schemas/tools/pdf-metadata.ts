import { checkFileSource, fileSource } from '../formats/fileSource.ts';
import { FILE_ERRORS } from '../formats/sourceUrl.ts';
import { defineTool } from '../tool.ts';

/** Maximum size of the PDF in bytes, after its Content-Encoding has been decoded. */
export const PDF_BYTES = 50 * 1024 * 1024;
/** Maximum length of a metadata text in UTF-16 code units. */
export const TEXT_LENGTH = 10_000;

const text = (description: string) =>
  ({ type: ['string', 'null'], maxLength: TEXT_LENGTH, description }) as const;

const claim = (description: string, levels: string) =>
  ({
    type: ['object', 'null'],
    description,
    properties: {
      part: { type: 'integer', minimum: 1, description: 'Part of the standard.' },
      conformance: { type: ['string', 'null'], maxLength: 2, description: levels },
    },
    required: ['part', 'conformance'],
    additionalProperties: false,
  }) as const;

export default defineTool({
  name: 'pdf-metadata',
  title: 'PDF metadata',
  description:
    'Downloads a PDF of at most 50 MB and reads its information dictionary, its XMP metadata and its page count. Pages are ' +
    'not rendered. Texts that the information dictionary lacks, as in PDF 2.0 and PDF/A-4, are those of the XMP metadata. ' +
    'Damaged cross-reference tables and missing headers are repaired, as PDF readers do; of a file that ends before its ' +
    'trailer, the rest is read. An encrypted file that cannot be read is a result: `encrypted` is true, `unreadable` says ' +
    'why, the four texts are null, and the page count ' +
    'is given if it is not encrypted. A file that is not a PDF is `unsupported_source`; one that cannot be ' +
    'repaired is `corrupt_source`; one above 50 MB, or whose document structure unpacks to an unreasonable size, is ' +
    '`source_too_large`. A response status other than 2xx is `target_failed`. The limit is 15 s in total; a file that takes longer to ' +
    'read is `deadline_exceeded`.',
  price: 2,
  pool: 'network',
  limits: { workMs: 15_000 },
  input: {
    type: 'object',
    properties: {
      fileUrl: fileSource('a PDF'),
    },
    required: ['fileUrl'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      title: text(
        'Title; null if missing or empty. All texts are trimmed and truncated to 10,000 characters; their lines end with LF.',
      ),
      author: text(
        'Author; null if missing or empty. Several authors of the XMP metadata are separated by `; `.',
      ),
      subject: text('Subject; null if missing or empty.'),
      producer: text('Software that produced the file; null if missing or empty.'),
      pageCount: {
        type: ['integer', 'null'],
        minimum: 0,
        description:
          'Number of pages; null only for an encrypted file that cannot be opened without its password.',
      },
      encrypted: {
        type: 'boolean',
        description:
          'Whether the file is protected by a password, either for opening it or only for printing, copying or ' +
          'changing it. In the second case the file opens without the password and its texts are returned.',
      },
      unreadable: {
        type: ['string', 'null'],
        enum: ['password_required', 'certificate_required', 'unsupported_encryption', 'damaged', null],
        description:
          'Why an encrypted file cannot be read; null if it was read. `password_required`: it opens only with a password. ' +
          '`certificate_required`: it is encrypted for the holders of certificates. `unsupported_encryption`: this tool ' +
          'cannot decrypt it, such as AES-GCM (ISO/TS 32003). `damaged`: the part that says how it was encrypted is damaged.',
      },
      claims: {
        type: ['object', 'null'],
        description:
          'Standards to which the file says that it conforms, by its XMP metadata. That is not checked. Null if these ' +
          'cannot be read.',
        properties: {
          pdfA: claim(
            'PDF/A (ISO 19005), for archiving; null if not claimed.',
            'Level of conformance, such as `B`; null if the part has none.',
          ),
          pdfUA: claim(
            'PDF/UA (ISO 14289), for accessibility; null if not claimed.',
            'Level of conformance; null, because no part has any yet.',
          ),
        },
        required: ['pdfA', 'pdfUA'],
        additionalProperties: false,
      },
    },
    required: ['title', 'author', 'subject', 'producer', 'pageCount', 'encrypted', 'unreadable', 'claims'],
    additionalProperties: false,
  },
  examples: [
    {
      input: { fileUrl: 'https://example.com/report.pdf' },
      output: {
        title: 'Annual report',
        author: 'Jane Doe',
        subject: null,
        producer: 'LibreOffice 25.2.3.2 (X86_64) / LibreOffice Community',
        pageCount: 2,
        encrypted: false,
        unreadable: null,
        claims: { pdfA: null, pdfUA: null },
      },
    },
  ],
  errors: [...FILE_ERRORS, 'deadline_exceeded'],
  check: (input) => checkFileSource(input.fileUrl),
});
