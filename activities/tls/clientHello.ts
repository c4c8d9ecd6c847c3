import { randomBytes } from 'node:crypto';

/** Numbers of the protocol versions in TLS messages. */
export const VERSIONS = {
  SSLv3: 0x0300,
  TLSv1: 0x0301,
  'TLSv1.1': 0x0302,
  'TLSv1.2': 0x0303,
  'TLSv1.3': 0x0304,
};
export type Version = keyof typeof VERSIONS;

/** The parameters that a ClientHello offers. */
export interface Offer {
  version: Version;
  cipherSuites: readonly number[];
  groups: readonly number[];
  /** Host name to send as SNI; null when the target is an IP address. */
  serverName: string | null;
  /** Application protocol to offer by ALPN. Default: none. */
  alpn?: string | null;
  /** Whether to request a stapled OCSP response. Default: false. */
  requestOcsp?: boolean;
}

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const EXTENSION = {
  serverName: 0,
  statusRequest: 5,
  supportedGroups: 10,
  pointFormats: 11,
  signatureAlgorithms: 13,
  alpn: 16,
  padding: 21,
  extendedMasterSecret: 23,
  supportedVersions: 43,
  pskModes: 45,
  keyShare: 51,
  renegotiationInfo: 0xff01,
};
/** Bytes of the type and length of an extension. */
const EXTENSION_HEAD = 4;
/** Bytes of the type and length of a handshake message. */
const MESSAGE_HEAD = 4;
/** All signature algorithms in use, so that a server with any certificate can answer (IANA, "TLS SignatureScheme"). */
const SIGNATURE_ALGORITHMS = [
  ...[0x0403, 0x0503, 0x0603, 0x0807, 0x0808, 0x0809, 0x080a, 0x080b, 0x0804, 0x0805, 0x0806, 0x0401, 0x0501],
  ...[0x0601, 0x0904, 0x0905, 0x0906, 0x0303, 0x0301, 0x0203, 0x0201, 0x0202, 0x0302, 0x0402, 0x0502, 0x0602],
];

const u8 = (value: number): Buffer => Buffer.of(value);
const u16 = (value: number): Buffer => Buffer.of(value >> 8, value & 0xff);
const u16s = (values: readonly number[]): Buffer => Buffer.concat(values.map(u16));
/** Encodes a vector of the TLS presentation language: its length in 8 bits (below: 16 bits), then its content. */
const vector8 = (content: Buffer): Buffer => Buffer.concat([u8(content.length), content]);
const vector16 = (content: Buffer): Buffer => Buffer.concat([u16(content.length), content]);
const extension = (type: number, content: Buffer): Buffer => Buffer.concat([u16(type), vector16(content)]);

function extensions({ version, groups, serverName, alpn = null, requestOcsp = false }: Offer): Buffer {
  const list = [
    extension(EXTENSION.renegotiationInfo, u8(0)),
    extension(EXTENSION.extendedMasterSecret, Buffer.alloc(0)),
    extension(EXTENSION.supportedGroups, vector16(u16s(groups))),
    extension(EXTENSION.pointFormats, vector8(u8(0))),
  ];
  if (serverName !== null) {
    const name = Buffer.concat([u8(0), vector16(Buffer.from(serverName))]);
    list.unshift(extension(EXTENSION.serverName, vector16(name)));
  }
  if (alpn !== null) list.push(extension(EXTENSION.alpn, vector16(vector8(Buffer.from(alpn)))));
  // An OCSP request of any responder, without extensions (RFC 6066 section 8).
  if (requestOcsp) list.push(extension(EXTENSION.statusRequest, Buffer.of(1, 0, 0, 0, 0)));
  if (VERSIONS[version] >= VERSIONS['TLSv1.2'])
    list.push(extension(EXTENSION.signatureAlgorithms, vector16(u16s(SIGNATURE_ALGORITHMS))));
  if (version === 'TLSv1.3')
    list.push(
      extension(EXTENSION.supportedVersions, vector8(u16(VERSIONS[version]))),
      extension(EXTENSION.pskModes, vector8(u8(1))),
      // Without key shares, the server answers with a HelloRetryRequest, which names the group that it prefers.
      extension(EXTENSION.keyShare, vector16(Buffer.alloc(0))),
    );
  return Buffer.concat(list);
}

/**
 * Returns the extension that pads a ClientHello of 256 to 511 bytes to 512 bytes, because some servers do not answer those
 * sizes (RFC 7685). Empty for other sizes.
 *
 * @param size size of the handshake message without padding, in bytes
 */
function padding(size: number): Buffer {
  if (size < 256 || size > 511) return Buffer.alloc(0);
  return extension(EXTENSION.padding, Buffer.alloc(Math.max(1, 512 - size - EXTENSION_HEAD)));
}

/** Encodes a ClientHello that offers one protocol version (RFC 8446 section 4.1.2, RFC 5246 section 7.4.1.2). */
export function encodeClientHello(offer: Offer): Buffer {
  const { version, cipherSuites } = offer;
  const isTls13 = version === 'TLSv1.3';
  const legacy = Math.min(VERSIONS[version], VERSIONS['TLSv1.2']);
  const head = Buffer.concat([
    u16(legacy),
    randomBytes(32),
    vector8(isTls13 ? randomBytes(32) : Buffer.alloc(0)),
    vector16(u16s(cipherSuites)),
    vector8(u8(0)),
  ]);
  const list = version === 'SSLv3' ? null : extensions(offer);
  const body =
    list === null
      ? head
      : Buffer.concat([
          head,
          vector16(Buffer.concat([list, padding(MESSAGE_HEAD + head.length + 2 + list.length)])),
        ]);
  const message = Buffer.concat([u8(CLIENT_HELLO), u8(0), vector16(body)]);
  return Buffer.concat([u8(HANDSHAKE), u16(Math.min(legacy, VERSIONS.TLSv1)), vector16(message)]);
}
