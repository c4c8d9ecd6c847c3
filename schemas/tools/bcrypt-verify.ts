import { bcryptHashFault } from '../formats/bcrypt.ts';
import { defineTool } from '../tool.ts';

export default defineTool({
  name: 'bcrypt-verify',
  title: 'Bcrypt verify',
  description:
    'Verifies a password against a stored bcrypt hash. The work factor is read from the hash and may be at most 16. ' +
    '$2a$, $2b$ and $2y$ hashes are supported, and $2x$ hashes, whose prefix marks a sign-extension bug that is reproduced. As ' +
    'in every bcrypt implementation, only the first 72 bytes of the password count, so passwords that differ only ' +
    'after them match the same hash. The password may be empty, and a NUL character in it is an ordinary byte. A string that is ' +
    'not a bcrypt hash is refused as `invalid_input`.',
  price: 2,
  pool: 'cpu',
  limits: { workMs: 60_000 },
  input: {
    type: 'object',
    properties: {
      password: {
        type: 'string',
        writeOnly: true,
        description: 'Plaintext password to verify; may be empty. Only the first 72 bytes count.',
      },
      hash: {
        type: 'string',
        description: 'Stored bcrypt hash: $2a$, $2b$, $2x$ or $2y$, work factor 4 to 16.',
      },
    },
    required: ['password', 'hash'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      matches: { type: 'boolean', description: 'Whether the password matches the hash.' },
    },
    required: ['matches'],
    additionalProperties: false,
  },
  examples: [
    {
      input: {
        password: 'correct horse battery staple',
        hash: '$2b$11$eUTP0LRL9AQa1A/N/DliNuXBC.Ql6Mgpk0vt3iJ0snYDofiPUXpkC',
      },
      output: { matches: true },
    },
  ],
  errors: [],
  check({ hash }) {
    const message = bcryptHashFault(hash);
    return message === null ? [] : [{ pointer: '/hash', message }];
  },
});
