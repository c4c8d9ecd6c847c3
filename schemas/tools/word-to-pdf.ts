import { exampleFile } from '../formats/exampleFile.ts';
import { checkFileSource, fileSource } from '../formats/fileSource.ts';
import { FILE_ERRORS } from '../formats/sourceUrl.ts';
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
    'objects and templates outside the document are left out. The words of the PDF are compared with those that the document ' +
    'shows; if the PDF would lack some, the document is `unsupported_source`. Of `.doc`, headers and footers are not compared, and nothing ' +
    'if it is of Word 6 or 95, or was saved fast, with only its changes. Page numbers and ' +
    'numbers of pages are those of the PDF; in `.docx` also the number of pages of a section, the sum of one of these and a number, and ' +
    'the number of a section, which in headers and footers is that of the last one that began a page. Other fields of Word ' +
    'documents show the result that Word stored, also conditions on a page number. Fields with the path of the document show its file ' +
    'name. Comments are left out. Missing fonts are replaced by fonts of the same ' +
    'widths where known (Arial, Times New Roman, Courier New, Calibri, Cambria, Aptos, Georgia, Verdana, Segoe UI, Consolas and ' +
    'others), otherwise by DejaVu and Noto, which cover all scripts; `replacedFonts` lists them. A PDF that makes the response larger ' +
    'than 50 MB is `output_too_large`; a document that is not converted within 60 s, such as one with a table of thousands of rows, is ' +
    '`deadline_exceeded`; the error then says how many rows the table has.',
  price: 15,
  pool: 'heavy',
  limits: { workMs: 60_000, attempts: 2 },
  input: {
    type: 'object',
    properties: { fileUrl: fileSource('the document') },
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
      textCheck: {
        type: ['object', 'null'],
        description:
          'Comparison of the words that the document shows with those of the PDF; null for a `.doc` of Word 6 or 95, or that was saved fast, with only its changes.',
        properties: {
          words: {
            type: 'integer',
            minimum: 0,
            description: 'Number of words that the document shows. The PDF has all of them.',
          },
          uncertainWords: {
            type: 'integer',
            minimum: 0,
            description:
              'Number of further words that were not found: in text boxes, frames and rows of fixed height, after their first letters, because Word cuts off what does not fit; in content controls with data or a placeholder; and in scripts whose letters a PDF has in another order.',
          },
        },
        required: ['words', 'uncertainWords'],
        additionalProperties: false,
      },
      replacedFonts: {
        type: ['array', 'null'],
        maxItems: 50,
        description:
          'Fonts that the document asks for, that it does not contain and that the service does not have, at most 50; null for `.doc`, whose fonts are not read.',
        items: {
          type: 'object',
          properties: {
            font: { type: 'string', description: 'Font family that the document asks for.' },
            replacement: { type: 'string', description: 'Font family that was used instead.' },
          },
          required: ['font', 'replacement'],
          additionalProperties: false,
        },
      },
      undrawnCharacters: {
        type: 'array',
        maxItems: 100,
        description: 'Characters for which no font was found, so that boxes are shown; at most 100.',
        items: { type: 'string' },
      },
    },
    required: [
      'fileBase64',
      'mimeType',
      'fileName',
      'sizeBytes',
      'textCheck',
      'replacedFonts',
      'undrawnCharacters',
    ],
    additionalProperties: false,
  },
  examples: [
    {
      input: { fileUrl: 'https://example.com/letter.docx' },
      output: {
        ...exampleFile('word-to-pdf.pdf'),
        mimeType: 'application/pdf',
        fileName: 'letter.pdf',
        textCheck: { words: 1, uncertainWords: 0 },
        replacedFonts: [],
        undrawnCharacters: [],
      },
    },
  ],
  errors: [...FILE_ERRORS, 'output_too_large', 'tool_unavailable', 'deadline_exceeded'],
  check: ({ fileUrl }) => checkFileSource(fileUrl),
  raw: { data: 'fileBase64', mimeType: 'mimeType', fileName: 'fileName' },
});
