/** What the tools that change a picture answer. @param mimeType what that field is described as */
export const changedImage = <D extends string>(mimeType: D) =>
  ({
    fileBase64: {
      type: 'string',
      contentEncoding: 'base64',
      description: 'Image, base64, no data URI prefix.',
    },
    mimeType: { type: 'string', enum: ['image/png', 'image/jpeg', 'image/webp'], description: mimeType },
    fileName: {
      type: 'string',
      description: 'Suggested download name: that of the source, with the extension of its type.',
    },
    sizeBytes: { type: 'integer', minimum: 1, description: 'Size of the decoded image.' },
  }) as const;
