/** What an image tool cannot keep of a source, besides metadata. */
export type Loss = 'gain_map' | 'animation';

/**
 * Output fields common to the tools that return a modified image. @param mimeType description of the field `mimeType`
 */
export const changedImage = <D extends string>(mimeType: D) =>
  ({
    fileBase64: {
      type: 'string',
      contentEncoding: 'base64',
      description: 'Image in base64, without a data URI prefix.',
    },
    mimeType: { type: 'string', enum: ['image/png', 'image/jpeg', 'image/webp'], description: mimeType },
    fileName: {
      type: 'string',
      description: 'Suggested file name: the name of the source with the extension of the image type.',
    },
    sizeBytes: { type: 'integer', minimum: 1, description: 'Size of the decoded image in bytes.' },
    losses: {
      type: 'array',
      items: { type: 'string', enum: ['gain_map', 'animation'] },
      description:
        'What the result lacks of the source, besides metadata; empty if nothing. `gain_map`: the second image with which a ' +
        'JPEG, such as Ultra HDR, is shown brighter on HDR screens; the result is its SDR image. `animation`: all frames ' +
        'of an animated PNG but the default image.',
    },
  }) as const;
