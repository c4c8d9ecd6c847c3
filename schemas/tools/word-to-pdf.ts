import { checkSourceUrl, FILE_ERRORS, sourceUrl } from '../formats/sourceUrl.ts';
import { defineTool } from '../tool.ts';

export default defineTool({
  name: 'word-to-pdf',
  title: 'Word to PDF',
  description:
    'Downloads a document of at most 25 MB (`.docx`, `.doc` from Word 6 on, `.odt` or `.rtf`) and converts it to PDF with ' +
    'LibreOffice. What the file is is told by its bytes, never by its name or `Content-Type`; any other file, and one that ' +
    'needs a password, is `unsupported_source`, one that cannot be read is `corrupt_source`. Packed documents may have ' +
    '10,000 parts and 300 MB unpacked, beyond that they are `source_too_large`. Each document gets a LibreOffice of its own ' +
    'without a network and without other files: macros do not run, and pictures, texts, objects and templates that lie ' +
    'outside of the document are left out. Fonts that are not installed are replaced by ones of the same widths where there ' +
    'are such (Carlito for Calibri, Caladea for Cambria, Liberation for Arial, Times New Roman and Courier New), and by ' +
    'DejaVu and Noto for all scripts. A PDF that makes the answer larger than 50 MB is `output_too_large`; a document that ' +
    'is not converted within 60 s is `deadline_exceeded`.',
  price: 15,
  pool: 'heavy',
  limits: { workMs: 60_000, attempts: 2 },
  input: {
    type: 'object',
    properties: { fileUrl: sourceUrl('the document') },
    required: ['fileUrl'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      fileBase64: { type: 'string', description: 'The PDF in base64, without a data URI prefix.' },
      mimeType: { type: 'string', const: 'application/pdf', description: 'Always `application/pdf`.' },
      fileName: {
        type: 'string',
        description:
          'A name to save the PDF under: that of the document (by its `Content-Disposition`, else by its URL) with `.pdf`.',
      },
      sizeBytes: { type: 'integer', minimum: 1, description: 'Size of the PDF, bytes.' },
    },
    required: ['fileBase64', 'mimeType', 'fileName', 'sizeBytes'],
    additionalProperties: false,
  },
  examples: [
    {
      input: { fileUrl: 'https://example.com/letter.docx' },
      output: {
        fileBase64: 'JVBERi0xLjYKJcOkw7zDtsOfCg==',
        mimeType: 'application/pdf',
        fileName: 'letter.pdf',
        sizeBytes: 19,
      },
    },
  ],
  errors: [...FILE_ERRORS, 'output_too_large', 'tool_unavailable', 'deadline_exceeded'],
  check: ({ fileUrl }) => checkSourceUrl('/fileUrl', fileUrl),
  raw: { data: 'fileBase64', mimeType: 'mimeType', fileName: 'fileName' },
});
