import { ARGON2_HASH_LENGTH, argon2HashFaults } from '../formats/argon2.ts';
import { defineTool } from '../tool.ts';

export default defineTool({
  name: 'argon2-verify',
  title: 'Argon2 verify',
  description:
    'Verifies a password against a stored Argon2i, Argon2d or Argon2id hash in PHC string format. Version and cost ' +
    'parameters are read from the hash; a hash without a version is read as version 16, as in the reference decoder. ' +
    'Associated data in the hash (data=) is used. A hash that was made with a secret key (keyid=) never matches, ' +
    'because the service does not have the key. Limits: 256 MiB of memory, 16 passes, 16 lanes, and 1 GiB as memory times ' +
    'passes. A costlier or malformed hash is refused as `invalid_input`. Hashes of version 16 take several times as ' +
    'long to verify as those of version 19.',
  price: 3,
  pool: 'cpu',
  limits: { workMs: 60_000 },
  input: {
    type: 'object',
    properties: {
      password: {
        type: 'string',
        writeOnly: true,
        description: 'Plaintext password to verify; may be empty.',
      },
      hash: {
        type: 'string',
        maxLength: ARGON2_HASH_LENGTH,
        description: 'Stored Argon2 hash, $argon2id$v=19$m=…,t=…,p=…$salt$hash.',
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
        password: 'password',
        hash: '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
      },
      output: { matches: true },
    },
  ],
  errors: [],
  check: ({ hash }) => argon2HashFaults(hash).map((message) => ({ pointer: '/hash', message })),
});
