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
  }) as const;
