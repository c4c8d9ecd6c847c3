import { checkSourceUrl, FILE_ERRORS, sourceUrl } from '../formats/sourceUrl.ts';
import { defineTool } from '../tool.ts';

/** Size limit of the file in bytes, after content decoding. */
export const PDF_BYTES = 50 * 1024 * 1024;
/** Length limit of a string, in UTF-16 code units. */
export const TEXT_LENGTH = 10_000;

const text = (description: string) =>
  ({ type: ['string', 'null'], maxLength: TEXT_LENGTH, description }) as const;

export default defineTool({
  name: 'pdf-metadata',
  title: 'PDF metadata',
  description:
    'Downloads a PDF of at most 50 MB and reads its information dictionary and page count. Pages are not rendered, ' +
    'and XMP metadata is not read. Damaged cross-reference tables and missing headers are repaired, as PDF readers ' +
    'do. A file that needs a password is a result: `encrypted` is true, the four texts are null, and the page count ' +
    'is given if the file does not encrypt it. A file that is not a PDF is `unsupported_source`; one that cannot be ' +
    'repaired is `corrupt_source`; one above 50 MB, or whose document structure unpacks to an unreasonable size, is ' +
    '`source_too_large`. A status other than 2xx is `target_failed`. The call has 15 s; a file that takes longer to ' +
    'read is `deadline_exceeded`.',
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
        'Title; null when missing or empty. Like the other texts it is trimmed, and truncated to 10,000 characters.',
      ),
      author: text('Author, or null when missing.'),
      subject: text('Subject, or null when missing.'),
      producer: text('Software that produced the file, or null when missing.'),
      pageCount: {
        type: ['integer', 'null'],
        minimum: 0,
        description:
          'Number of pages; null only for an encrypted file that cannot be opened without its password.',
      },
      encrypted: {
        type: 'boolean',
        description:
          'True when the file is protected by a password, either for opening it or only for printing, copying or ' +
          'changing it. In the second case it opens without a password and its texts are given.',
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
