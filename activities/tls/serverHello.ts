import { VERSIONS, type Version } from './clientHello.ts';

/** The parameters that a server selected from a ClientHello. */
export interface Choice {
  version: Version;
  cipherSuite: number;
  /** Key exchange group; null when the server has not named it yet, or the key exchange has no named group. */
  group: number | null;
}

/** Parses a server's answer to a ClientHello as the bytes arrive. */
export interface AnswerReader {
  /** Adds received bytes. @returns whether the answer is complete */
  add(bytes: Buffer): boolean;
  /** The parameters that the server selected; null when it refused the offer. */
  readonly choice: Choice | null;
}

const RECORD = { alert: 21, handshake: 22 };
const MESSAGE = { serverHello: 2, serverKeyExchange: 12, serverHelloDone: 14 };
const FATAL = 2;
const EXTENSION = { supportedVersions: 43, keyShare: 51 };
const NAMED_CURVE = 3;
const RECORD_HEAD = 5;
const MESSAGE_HEAD = 4;
/** Maximum number of unparsed bytes, after which reading stops. Only the certificates in an answer are long. */
const MAX_BYTES = 256 * 1024;

const versionOf = (code: number): Version | null => {
  for (const name of ['SSLv3', 'TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const)
    if (VERSIONS[name] === code) return name;
  return null;
};

/** Parses a ServerHello or HelloRetryRequest. @returns null for an unknown version @throws RangeError when it is cut off */
function readServerHello(body: Buffer): Choice | null {
  let version = versionOf(body.readUInt16BE(0));
  let at = 35 + body.readUInt8(34);
  const cipherSuite = body.readUInt16BE(at);
  let group: number | null = null;
  at += 3;
  for (at += 2; at + 4 <= body.length; ) {
    const type = body.readUInt16BE(at);
    const length = body.readUInt16BE(at + 2);
    if (type === EXTENSION.supportedVersions) version = versionOf(body.readUInt16BE(at + 4));
    if (type === EXTENSION.keyShare) group = body.readUInt16BE(at + 4);
    at += 4 + length;
  }
  return version === null ? null : { version, cipherSuite, group };
}

/**
 * Creates a reader of the plaintext answer to one ClientHello. It reads up to the ServerHello, or with `wholeFlight` up to
 * the ServerKeyExchange, which names the elliptic curve in TLS 1.2 and older.
 */
export function createAnswerReader(wholeFlight: boolean): AnswerReader {
  let received = Buffer.alloc(0);
  let handshake = Buffer.alloc(0);
  let choice: Choice | null = null;

  /** Reads one handshake message. @returns whether the answer is complete */
  function readMessage(type: number, body: Buffer): boolean {
    if (type === MESSAGE.serverHello) {
      choice = readServerHello(body);
      return choice === null || choice.version === 'TLSv1.3' || !wholeFlight;
    }
    if (type === MESSAGE.serverKeyExchange && choice !== null && body.readUInt8(0) === NAMED_CURVE)
      choice = { ...choice, group: body.readUInt16BE(1) };
    return type === MESSAGE.serverKeyExchange || type === MESSAGE.serverHelloDone;
  }
  function readMessages(): boolean {
    while (handshake.length >= MESSAGE_HEAD) {
      const end = MESSAGE_HEAD + handshake.readUIntBE(1, 3);
      if (handshake.length < end) return false;
      const body = handshake.subarray(MESSAGE_HEAD, end);
      if (readMessage(handshake.readUInt8(0), body)) return true;
      handshake = handshake.subarray(end);
    }
    return false;
  }

  return {
    add(bytes) {
      received = Buffer.concat([received, bytes]);
      while (received.length >= RECORD_HEAD) {
        const type = received.readUInt8(0);
        const end = RECORD_HEAD + received.readUInt16BE(3);
        if (type !== RECORD.alert && type !== RECORD.handshake) return true;
        if (received.length < end) break;
        const content = received.subarray(RECORD_HEAD, end);
        received = received.subarray(end);
        if (type === RECORD.handshake) handshake = Buffer.concat([handshake, content]);
        // Alerts of level warning, such as unrecognized_name, do not end the handshake.
        else if (content[0] === FATAL) return true;
        if (readMessages()) return true;
      }
      return received.length + handshake.length > MAX_BYTES;
    },
    get choice() {
      return choice;
    },
  };
}
