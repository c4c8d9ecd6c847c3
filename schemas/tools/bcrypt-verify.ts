import { bcryptHashFault } from '../formats/bcrypt.ts';
import { defineTool } from '../tool.ts';

export default defineTool({
  name: 'bcrypt-verify',
  title: 'Bcrypt verify',
  description:
    'Tests a password against a stored bcrypt hash; the work factor is read from the hash, up to 16. $2a$, $2b$ and $2y$ ' +
    'hashes are verified, and $2x$ with the sign-extension bug that it stands for. As everywhere in bcrypt only the first ' +
    '72 bytes of the password count, so two passwords that differ after them both match; the empty password is allowed, ' +
    'and a NUL character counts as a byte like any other. A string that is no bcrypt hash is refused, not answered with false.',
  price: 2,
  pool: 'cpu',
  limits: { workMs: 60_000 },
  input: {
    type: 'object',
    properties: {
      password: {
        type: 'string',
        writeOnly: true,
        description: 'Plaintext password to test; may be empty, and counts up to its 72nd byte.',
      },
      hash: {
        type: 'string',
        description: 'Stored BCrypt hash: $2a$, $2b$, $2x$ or $2y$, work factor 4 to 16.',
      },
    },
    required: ['password', 'hash'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      matches: { type: 'boolean', description: 'True when the password produces the hash.' },
    },
    required: ['matches'],
    additionalProperties: false,
  },
  examples: [
    {
      input: {
        password: 'U*U',
        hash: '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW',
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
