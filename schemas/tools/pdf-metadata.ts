import { checkSourceUrl, FILE_ERRORS, sourceUrl } from '../formats/sourceUrl.ts';
import { defineTool } from '../tool.ts';

/** Of the file, after decoding of the transfer. */
export const PDF_BYTES = 50 * 1024 * 1024;
/** UTF-16 code units of one string. */
export const TEXT_LENGTH = 10_000;

const text = (description: string) =>
  ({ type: ['string', 'null'], maxLength: TEXT_LENGTH, description }) as const;

export default defineTool({
  name: 'pdf-metadata',
  title: 'PDF metadata',
  description:
    'Downloads a PDF of at most 50 MB and reads its information dictionary and page count; pages are not rendered, and ' +
    'XMP metadata is not looked at. Cross-reference tables that are damaged and headers that are lost are repaired as ' +
    'readers repair them. A file that needs a password is a result: `encrypted` is true, the four texts are null, and the ' +
    'page count is there where the file tells it in the clear. What is no PDF is `unsupported_source`, what is beyond ' +
    'repair `corrupt_source`, and what is larger than 50 MB, or unpacks to far more than the outline of a document needs, ' +
    '`source_too_large`. An address that answers another status than 2xx is `target_failed`. 15 s in all; a file whose ' +
    'reading takes longer is `deadline_exceeded`.',
  price: 2,
  pool: 'network',
  limits: { workMs: 15_000 },
  input: {
    type: 'object',
    properties: {
      fileUrl: sourceUrl('a PDF'),
    },
    required: ['fileUrl'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      title: text(
        'Title; null when it is not set or empty. White space around it is left out, as in the other texts; beyond 10,000 characters they are cut.',
      ),
      author: text('Author, or null when it is not set.'),
      subject: text('Subject, or null when it is not set.'),
      producer: text('Software that produced the file, or null when it is not set.'),
      pageCount: {
        type: ['integer', 'null'],
        minimum: 0,
        description: 'Number of pages; null only for an encrypted file that hides it.',
      },
      encrypted: {
        type: 'boolean',
        description:
          'True when the file is protected by a password: one to open it, or one that only restricts printing, copying or ' +
          'changing. The latter opens without a password, so its texts are there.',
      },
    },
    required: ['title', 'author', 'subject', 'producer', 'pageCount', 'encrypted'],
    additionalProperties: false,
  },
  examples: [
    {
      input: { fileUrl: 'https://example.com/report.pdf' },
      output: {
        title: 'Annual report',
        author: 'Jane Doe',
        subject: null,
        producer: 'LibreOffice 7.4',
        pageCount: 2,
        encrypted: false,
      },
    },
  ],
  errors: [...FILE_ERRORS, 'deadline_exceeded'],
  check: (input) => checkSourceUrl('/fileUrl', input.fileUrl),
});
