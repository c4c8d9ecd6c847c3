import { changedImage } from '../formats/changedImage.ts';
import { checkSourceUrl, FILE_ERRORS, sourceUrl } from '../formats/sourceUrl.ts';
import { defineTool } from '../tool.ts';

export default defineTool({
  name: 'image-upscale',
  title: 'Upscale',
  description:
    'Downloads a PNG, JPEG, WebP or BMP, recognised by its bytes, and makes it two or four times as wide and high. The ' +
    'picture is enlarged by Lanczos and sharpened by a neural network of UpscalerJS (esrgan-slim) as far as that brings ' +
    'it nearer to what it shows: how far is measured on the picture itself, and a blurred or very small one is left to ' +
    'Lanczos. Transparency is enlarged apart: what is opaque stays opaque, and the colours of invisible pixels are left ' +
    'out. The answer has the format of the source, a PNG for a BMP, upright as its EXIF orientation says, without ' +
    'metadata but with its colour profile; JPEG and lossy WebP are encoded at quality 90. 16 bits and greyscale stay; a ' +
    'palette becomes true colour, CMYK becomes sRGB. All BMPs of Windows and OS/2 are read but those of 64 bits a pixel, ' +
    'with a JPEG or PNG within, or in Huffman or RLE24 code (`unsupported_source`); a BMP is transparent where its header ' +
    'says how. At most 10 MB, and 4 megapixels at factor 2, 1 megapixel at factor 4, judged by the header: beyond it is ' +
    '`source_too_large`. A result with a side of more than 65500 pixels for JPEG or 16383 for WebP, which these cannot ' +
    'hold, is `output_too_large`. Animations and other types are `unsupported_source`, damaged files `corrupt_source`. ' +
    '60 s in all.',
  price: 30,
  pool: 'heavy',
  limits: { workMs: 60_000, attempts: 2 },
  input: {
    type: 'object',
    properties: {
      fileUrl: sourceUrl('a PNG, JPEG, WebP or BMP image'),
      factor: {
        type: 'integer',
        enum: [2, 4],
        default: 2,
        description: '2 or 4: how many times as wide and high.',
      },
    },
    required: ['fileUrl'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      ...changedImage('Output MIME type: that of the source, `image/png` for a BMP.'),
      factor: { type: 'integer', enum: [2, 4], description: 'Factor applied.' },
    },
    required: ['fileBase64', 'mimeType', 'fileName', 'sizeBytes', 'factor'],
    additionalProperties: false,
  },
  examples: [
    {
      input: { fileUrl: 'https://example.com/sail.png', factor: 2 },
      output: {
        fileBase64:
          'iVBORw0KGgoAAAANSUhEUgAAACAAAAAYCAIAAAAUMWhjAAAACXBIWXMAAAPoAAAD6AG1e1JrAAACMUlEQVRIicWVy2riUBiA+xBeQDDiRtpEqPQx3CnoukhzcjM18bIqgpd1gptqjNkU+gCShSAINTiIBqXiossuFEpn40Z0I5LhJEwZUnVmYNKBb3HIuXzn/8/J+c/QTMNRzo51YJlGmGtgfwAc9leCiwycdsnXI1mTj8ZnfnZd8nWMgxN/L8DM1c9vpSDT9FMyQssBE+QTH9/9lBxkmue3EgzotMDae5hrhFjJR7ZcuOIGihconiN4ARzgwhUf2QqxkpXSixMCa+8hVrrK3UeLtWRVSFSEWEmMlw8TK4mJipCsCtFi7Sp3H2IlK47DAiwD8x5kmj6yFS3WHh7vZl1O7/C9dqGv5jU1Z6Ov5nvtgt7hZ13u4fEuWqz5yFaQacLzOCgIc41Itu6nZBeuJKvCrMsZL9fGPLXVid0E7Ke4jd0EbHXCmKeMl+tZl0tWBReu+Ck5kq2HuYMRmAKElt1ASVQEvcPDyc83qyG1HpGbMWFjPSJXQ8p4vjHmKb3DJyqCGygIDQXYUQFfD9CyFyixkthrF7Y6sRpSr0/sQksvNcbGQku/PrGrIbXViV67ECuJXqAEaDliXtmjEQRo2QOUeFnsq/ndBKxH5EJLvw2Y9wFt420AHesRuZuAvpqPl0WPJTgVgZkiS6Cpuf0U34yJpQZX//7NzvuAXmrMZkzsp7im5iwB8v8FAWdTxDt/yIhz1zTs+I+WcfipQJ1+7NAveK5RpwsO+gUlE/0lFKeK/r/lB12jPR30GUq+AAAAAElFTkSuQmCC',
        mimeType: 'image/png',
        fileName: 'sail.png',
        sizeBytes: 639,
        factor: 2,
      },
    },
  ],
  errors: [...FILE_ERRORS, 'output_too_large'],
  check: ({ fileUrl: url }) => checkSourceUrl('/fileUrl', url),
  raw: { data: 'fileBase64', mimeType: 'mimeType', fileName: 'fileName' },
});
