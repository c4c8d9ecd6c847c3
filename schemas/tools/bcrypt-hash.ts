import type { Fault } from '../errors.ts';
import { BCRYPT_PASSWORD_BYTES } from '../formats/bcrypt.ts';
import { defineTool } from '../tool.ts';

export default defineTool({
  name: 'bcrypt-hash',
  title: 'Bcrypt hash',
  description:
    'Hashes a password with bcrypt and a new random salt, and returns the $2b$ string to store. bcrypt reads only 72 ' +
    'bytes, so a longer password (in UTF-8) is refused instead of silently truncated. A password with a NUL character ' +
    'is also refused, because implementations treat it differently. The password is used as sent, without ' +
    'Unicode normalisation, and is never stored.',
  price: 2,
  pool: 'cpu',
  limits: { workMs: 20_000 },
  input: {
    type: 'object',
    properties: {
      password: {
        type: 'string',
        minLength: 1,
        writeOnly: true,
        description: 'Plaintext password, 1 to 72 bytes of UTF-8 without NUL; never stored.',
      },
      workFactor: {
        type: 'integer',
        minimum: 4,
        maximum: 14,
        default: 11,
        description: 'bcrypt cost; each increment by one doubles the time of hashing and verifying.',
      },
    },
    required: ['password'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      hash: {
        type: 'string',
        pattern: '^\\$2b\\$[01]\\d\\$[./A-Za-z0-9]{53}$',
        description: 'bcrypt hash with embedded salt and work factor.',
      },
    },
    required: ['hash'],
    additionalProperties: false,
  },
  examples: [
    {
      input: { password: 'correct horse battery staple', workFactor: 11 },
      output: { hash: '$2b$11$eUTP0LRL9AQa1A/N/DliNuXBC.Ql6Mgpk0vt3iJ0snYDofiPUXpkC' },
    },
  ],
  errors: [],
  check({ password }) {
    const faults: Fault[] = [];
    const bytes = Buffer.byteLength(password);
    if (bytes > BCRYPT_PASSWORD_BYTES)
      faults.push({
        pointer: '/password',
        message: `has ${bytes} bytes in UTF-8; bcrypt reads only ${BCRYPT_PASSWORD_BYTES}`,
      });
    if (password.includes('\0'))
      faults.push({
        pointer: '/password',
        message: 'contains a NUL character, at which some implementations stop',
      });
    return faults;
  },
});
