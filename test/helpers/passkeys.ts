import type { CDPSession, Page } from 'puppeteer';

/** A virtual authenticator of a Chromium tab, which answers by itself. */
export interface Authenticator {
  /** Whether it has checked who uses it when it answers. */
  setUserVerified(isVerified: boolean): Promise<void>;
  remove(): Promise<void>;
}

export async function addAuthenticator(page: Page): Promise<Authenticator> {
  const session: CDPSession = await page.createCDPSession();
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    setUserVerified: async (isUserVerified) => {
      await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified });
    },
    remove: () => session.detach(),
  };
}

type Options = Record<string, unknown>;

/** Signs a challenge in the current page of a tab. Returns the JSON of the response. */
export const signChallenge = (page: Page, options: Options): Promise<string> =>
  page.evaluate(async (json) => {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(JSON.parse(json));
    return JSON.stringify(await navigator.credentials.get({ publicKey }));
  }, JSON.stringify(options));

/** Creates a passkey in the current page of a tab. Returns the JSON of the response. */
export const createPasskey = (page: Page, options: Options): Promise<string> =>
  page.evaluate(async (json) => {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(JSON.parse(json));
    return JSON.stringify(await navigator.credentials.create({ publicKey }));
  }, JSON.stringify(options));

const text = (value: string) => Buffer.concat([Buffer.from([0x60 + value.length]), Buffer.from(value)]);
const bytes = (value: Buffer) => Buffer.concat([Buffer.from([0x59, value.length >> 8, value.length]), value]);

/** Encodes an attestation object of the format `apple` with this certificate (DER) in CBOR. */
export const appleAttestation = (certificate: Buffer, authData: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from([0xa3]),
    text('fmt'),
    text('apple'),
    text('attStmt'),
    Buffer.from([0xa1]),
    text('x5c'),
    Buffer.from([0x81]),
    bytes(certificate),
    text('authData'),
    bytes(authData),
  ]);
