import { changedImage } from '../formats/changedImage.ts';
import { checkFileSource, fileSource } from '../formats/fileSource.ts';
import { FILE_ERRORS } from '../formats/sourceUrl.ts';
import { defineTool } from '../tool.ts';

export default defineTool({
  name: 'image-upscale',
  title: 'Upscale',
  description:
    'Downloads a PNG, JPEG, WebP or BMP image, detected by content, and enlarges it two or four times in width and ' +
    'height. A neural network, trained for this service, restores edges and textures. In each region its result is ' +
    'compared with the source and mixed with Lanczos interpolation as far as it cannot be confirmed; in smooth and in ' +
    'strongly compressed images that is most of it. The alpha channel is enlarged separately: opaque areas stay opaque, and ' +
    'colours of fully transparent pixels are ignored. The result has the format of the source (PNG for BMP), is rotated according to its EXIF ' +
    'orientation, and keeps what the source states of its colours (colour profile; cICP, mDCV, cLLI, sRGB, gAMA and cHRM of a ' +
    'PNG) and of its density (dpi), but no other metadata. JPEG and lossy WebP are encoded at quality 90, with 4:2:0 only if ' +
    'the source has no finer chroma. A gain map (Ultra HDR) is dropped; `losses` names it. ' +
    '16-bit and greyscale images keep their type; palettes become true colour and CMYK becomes sRGB. All BMP ' +
    'variants of Windows and OS/2 are supported except 64 bits per pixel, embedded JPEG or PNG, and Huffman or RLE24 ' +
    'compression (`unsupported_source`); transparency of a BMP is read as its header defines it. Limits: 10 MB, and ' +
    '4 megapixels at factor 2 or 1 megapixel at factor 4 according to the header; above that the image is ' +
    '`source_too_large`. A result with a side of more than 65500 pixels (JPEG) or 16383 pixels (WebP), the limits of ' +
    'these formats, is `output_too_large`. Animations and other types are `unsupported_source`, and so are JPEGs with more than 8 bits per sample or lossless or ' +
    'arithmetic coding, and PNGs for iOS (CgBI); damaged files are ' +
    '`corrupt_source`. The limit is 60 s in total.',
  price: 30,
  pool: 'heavy',
  limits: { workMs: 60_000, attempts: 2 },
  input: {
    type: 'object',
    properties: {
      fileUrl: fileSource('a PNG, JPEG, WebP or BMP image'),
      factor: {
        type: 'integer',
        enum: [2, 4],
        default: 2,
        description: 'Enlargement factor of width and height: 2 or 4.',
      },
    },
    required: ['fileUrl'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      ...changedImage('MIME type of the output: that of the source, or `image/png` for a BMP.'),
      factor: { type: 'integer', enum: [2, 4], description: 'Enlargement factor that was applied.' },
    },
    required: ['fileBase64', 'mimeType', 'fileName', 'sizeBytes', 'losses', 'factor'],
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
        losses: [],
        factor: 2,
      },
    },
  ],
  errors: [...FILE_ERRORS, 'output_too_large'],
  check: ({ fileUrl: url }) => checkFileSource(url),
  raw: { data: 'fileBase64', mimeType: 'mimeType', fileName: 'fileName' },
});
