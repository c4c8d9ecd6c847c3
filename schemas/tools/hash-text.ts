import { defineTool } from '../tool.ts';

export default defineTool({
  name: 'hash-text',
  title: 'Hash text',
  description:
    'Hashes a string as UTF-8 and returns the digest in lowercase hexadecimal. MD5 and SHA-1 are offered only for ' +
    'checksums and legacy interoperability: neither is collision-resistant. None of the four algorithms is suitable ' +
    'for storing passwords.',
  price: 1,
  pool: 'cpu',
  fast: true,
  limits: { workMs: 10_000 },
  input: {
    type: 'object',
    properties: {
      text: { type: 'string', maxLength: 1_000_000, description: 'String to hash; may be empty.' },
      algorithm: {
        type: 'string',
        enum: ['md5', 'sha1', 'sha256', 'sha512'],
        default: 'sha256',
        description: 'Digest to compute.',
      },
    },
    required: ['text'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      algorithm: {
        type: 'string',
        enum: ['md5', 'sha1', 'sha256', 'sha512'],
        description: 'Algorithm used.',
      },
      hash: { type: 'string', pattern: '^[0-9a-f]+$', description: 'Lowercase hexadecimal digest.' },
    },
    required: ['algorithm', 'hash'],
    additionalProperties: false,
  },
  examples: [
    {
      input: { text: 'abc' },
      output: {
        algorithm: 'sha256',
        hash: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
      },
    },
  ],
  errors: [],
});
