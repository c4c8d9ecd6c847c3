import { VERSIONS, type Version } from './clientHello.ts';

/** The parameters that a server selected from a ClientHello. */
export interface Choice {
  version: Version;
  cipherSuite: number;
  /** Key exchange group; null when the server has not named it yet, or the key exchange has no named group. */
  group: number | null;
  /** Application protocol that the server selected in its ServerHello, which only TLS 1.2 and older do; else null. */
  alpn: string | null;
  /** Whether the server sent an OCSP response with its certificate, unencrypted as in TLS 1.2 and older. */
  stapled: boolean;
}

/** Parses a server's answer to a ClientHello as the bytes arrive. */
export interface AnswerReader {
  /** Adds received bytes. @returns whether the answer is complete */
  add(bytes: Buffer): boolean;
  /** The parameters that the server selected; null until its ServerHello has arrived, and when it refuses the offer. */
  readonly choice: Choice | null;
}

const RECORD = { alert: 21, handshake: 22 };
const MESSAGE = { serverHello: 2, serverKeyExchange: 12, serverHelloDone: 14, certificateStatus: 22 };
const FATAL = 2;
const EXTENSION = { alpn: 16, supportedVersions: 43, keyShare: 51 };
const NAMED_CURVE = 3;
const RECORD_HEAD = 5;
/** Bytes of the type and length of a certificate status (RFC 6066 section 8). */
const STATUS_HEAD = 4;
const MESSAGE_HEAD = 4;
/** Maximum number of received bytes, after which reading stops. Only the certificates in an answer are long. */
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
  let alpn: string | null = null;
  at += 3;
  for (at += 2; at + 4 <= body.length; ) {
    const type = body.readUInt16BE(at);
    const length = body.readUInt16BE(at + 2);
    if (type === EXTENSION.supportedVersions) version = versionOf(body.readUInt16BE(at + 4));
    if (type === EXTENSION.keyShare) group = body.readUInt16BE(at + 4);
    // A list of one name: its length in 16 bits, the length of the name in 8 bits, and the name (RFC 7301).
    if (type === EXTENSION.alpn) alpn = body.toString('latin1', at + 7, at + 4 + length);
    at += 4 + length;
  }
  return version === null ? null : { version, cipherSuite, group, alpn, stapled: false };
}

/**
 * Creates a reader of the plaintext answer to one ClientHello. It reads up to the ServerHello, or with `wholeFlight` up to
 * the ServerKeyExchange, which names the elliptic curve in TLS 1.2 and older.
 */
export function createAnswerReader(wholeFlight: boolean): AnswerReader {
  let total = 0;
  let received = Buffer.alloc(0);
  let handshake = Buffer.alloc(0);
  let choice: Choice | null = null;

  /** Reads one handshake message. @returns whether the answer is complete */
  function readMessage(type: number, body: Buffer): boolean {
    if (type === MESSAGE.serverHello) {
      choice = readServerHello(body);
      return choice === null || choice.version === 'TLSv1.3' || !wholeFlight;
    }
    if (type === MESSAGE.certificateStatus && choice !== null)
      choice = { ...choice, stapled: body.length > STATUS_HEAD };
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

  /** Removes all complete records from the received bytes and parses their content. @returns whether the answer is complete */
  function readRecords(): boolean {
    const contents: Buffer[] = [];
    let ended = false;
    while (!ended && received.length >= RECORD_HEAD) {
      const type = received.readUInt8(0);
      const end = RECORD_HEAD + received.readUInt16BE(3);
      ended = type !== RECORD.alert && type !== RECORD.handshake;
      if (ended || received.length < end) break;
      const content = received.subarray(RECORD_HEAD, end);
      received = received.subarray(end);
      if (type === RECORD.handshake) contents.push(content);
      // Alerts of level warning, such as unrecognized_name, do not end the handshake.
      else ended = content[0] === FATAL;
    }
    handshake = Buffer.concat([handshake, ...contents]);
    return readMessages() || ended;
  }

  return {
    add(bytes) {
      total += bytes.length;
      received = Buffer.concat([received, bytes]);
      return readRecords() || total > MAX_BYTES;
    },
    get choice() {
      return choice;
    },
  };
}
