import { exampleFile } from '../formats/exampleFile.ts';
import { checkSourceUrl, FILE_ERRORS, sourceUrl } from '../formats/sourceUrl.ts';
import { defineTool } from '../tool.ts';

export default defineTool({
  name: 'word-to-pdf',
  title: 'Word to PDF',
  description:
    'Downloads a document of at most 25 MB (`.docx`, `.docm`, `.dotx`, `.dotm`, `.doc` from Word 6, `.odt` or `.rtf`) and converts it to PDF ' +
    'with LibreOffice. The type is detected from the content, not from the name or `Content-Type`. Other files, and files that ' +
    'require a password, are `unsupported_source`; files that cannot be read are `corrupt_source`. Documents in a ZIP format may ' +
    'have at most 10,000 parts and 300 MB when unpacked; above that they are `source_too_large`. Each document is converted by ' +
    'a separate LibreOffice process that can access neither the network nor other files: macros do not run, and images, texts, ' +
    'objects and templates outside the document are left out. Fields with the path of the document show its file name. Missing fonts are replaced by metric-compatible ones ' +
    'where available (Carlito for Calibri, Caladea for Cambria, Liberation for Arial, Times New Roman and Courier ' +
    'New), otherwise by DejaVu and Noto, which cover all scripts. A PDF that makes the response larger than 50 MB is ' +
    '`output_too_large`; a document that is not converted within 60 s is `deadline_exceeded`.',
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
          'Suggested file name: the name of the document (from `Content-Disposition`, else from its URL) with `.pdf`.',
      },
      sizeBytes: { type: 'integer', minimum: 1, description: 'Size of the PDF in bytes.' },
    },
    required: ['fileBase64', 'mimeType', 'fileName', 'sizeBytes'],
    additionalProperties: false,
  },
  examples: [
    {
      input: { fileUrl: 'https://example.com/letter.docx' },
      output: {
        ...exampleFile('word-to-pdf.pdf'),
        mimeType: 'application/pdf',
        fileName: 'letter.pdf',
      },
    },
  ],
  errors: [...FILE_ERRORS, 'output_too_large', 'tool_unavailable', 'deadline_exceeded'],
  check: ({ fileUrl }) => checkSourceUrl('/fileUrl', fileUrl),
  raw: { data: 'fileBase64', mimeType: 'mimeType', fileName: 'fileName' },
});
