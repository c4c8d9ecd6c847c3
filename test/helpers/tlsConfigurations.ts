import { behind, gnutls, nginx, node, oldNode, openssl, type StartServer } from './tlsServers.ts';

interface TlsConfiguration {
  start: StartServer;
  /** Whether the test that runs few configurations runs this one. Default: no. */
  sample?: true;
  /** Whether OCSP stapling is compared as well, which takes longer. Default: no. */
  stapling?: true;
  /** The groups that the server is configured to accept; given where testssl.sh does not find all of them. */
  groups?: readonly string[];
}

/** Options of s_server that permit the cipher suites and versions that Debian switches off. */
const weak = (ciphers: string): string[] => ['-cipher', `${ciphers}:@SECLEVEL=0`];
/** The extension supported_versions with a list that begins with TLS 1.3. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are bytes
const TLS_13_OFFERED = /\x00\x2b\x00..\x03\x04/s;

/** Default groups of OpenSSL 3.0 up to TLS 1.2. */
const OPENSSL_CURVES = ['x25519', 'x448', 'secp256r1', 'secp384r1', 'secp521r1'];
/** Default groups of OpenSSL 3.5, with which Node.js 24 is built. */
const NODE_GROUPS = ['X25519MLKEM768', ...OPENSSL_CURVES, 'ffdhe2048', 'ffdhe3072'];

/** Servers with which the cipher scan of ssl-check and testssl.sh are compared. */
export const TLS_CONFIGURATIONS: Readonly<Record<string, TlsConfiguration>> = {
  'OpenSSL, defaults': { stapling: true, start: openssl('rsa') },
  'OpenSSL, ECDSA': { stapling: true, start: openssl('ecdsa') },
  'OpenSSL, P-384': { start: openssl('ecdsa-384') },
  'OpenSSL, Ed25519': { start: openssl('ed25519') },
  'OpenSSL, RSA-PSS': { start: openssl('rsa-pss') },
  'OpenSSL, RSA and ECDSA': { start: openssl(['rsa', 'ecdsa'], '-serverpref') },
  'OpenSSL, everything': { start: openssl('rsa', ...weak('ALL:eNULL')) },
  'OpenSSL, TLS 1.0': { start: openssl('rsa', '-tls1', ...weak('ALL')) },
  'OpenSSL, TLS 1.1': { start: openssl('rsa', '-tls1_1', ...weak('ALL')) },
  'OpenSSL, TLS 1.2': { start: openssl('rsa', '-tls1_2') },
  'OpenSSL, TLS 1.3': { stapling: true, start: openssl('ecdsa', '-tls1_3') },
  'OpenSSL, TLS 1.0 and 1.2': { start: openssl('rsa', '-no_tls1_1', '-no_tls1_3', ...weak('ALL')) },
  'OpenSSL, TLS 1.0 to 1.2, ECDSA': {
    groups: OPENSSL_CURVES,
    start: openssl('ecdsa', '-no_tls1_3', ...weak('ALL')),
  },
  'OpenSSL, forward secrecy': {
    start: openssl('ecdsa', '-cipher', 'ECDHE+AESGCM:ECDHE+CHACHA20', '-serverpref'),
  },
  'OpenSSL, DHE': { start: openssl('rsa', '-tls1_2', '-cipher', 'DHE+AESGCM:DHE+CHACHA20') },
  'OpenSSL, DHE with 1024 bits': {
    start: openssl('rsa', '-tls1_2', '-dhparam', 'dh1024.pem', ...weak('DHE')),
  },
  'OpenSSL, DHE with 2048 bits': { start: openssl('rsa', '-dhparam', 'dh2048.pem', '-cipher', 'DHE') },
  'OpenSSL, key transport': { start: openssl('rsa', '-tls1_2', '-cipher', 'kRSA') },
  'OpenSSL, CBC': {
    start: openssl('rsa', '-no_tls1_3', ...weak('AES128-SHA:ECDHE-RSA-AES256-SHA:AES128-SHA256')),
  },
  'OpenSSL, CCM': {
    start: openssl(
      'ecdsa',
      '-cipher',
      'AESCCM',
      '-ciphersuites',
      'TLS_AES_128_CCM_SHA256:TLS_AES_128_CCM_8_SHA256',
    ),
  },
  'OpenSSL, ChaCha20 first': { start: openssl('rsa', '-serverpref', '-cipher', 'CHACHA20:AESGCM') },
  'OpenSSL, Camellia and ARIA': { start: openssl('rsa', '-tls1_2', '-cipher', 'CAMELLIA:ARIA') },
  'OpenSSL, NULL': { groups: OPENSSL_CURVES, start: openssl('rsa', '-tls1_2', ...weak('eNULL:AES128-SHA')) },
  'OpenSSL, anonymous': {
    groups: OPENSSL_CURVES,
    start: openssl('rsa', '-tls1_2', ...weak('aNULL:AES256-SHA')),
  },
  'OpenSSL, DSA': { start: openssl(['rsa', 'dsa'], '-no_tls1_3', ...weak('aDSS:AES128-SHA')) },
  'OpenSSL, X448 and P-521': { start: openssl('rsa', '-curves', 'X448:P-521') },
  'OpenSSL, finite fields in TLS 1.3': { start: openssl('rsa', '-tls1_3', '-curves', 'ffdhe2048:ffdhe4096') },
  'OpenSSL, secp256k1 and Brainpool': {
    start: openssl('rsa', '-tls1_2', '-curves', 'secp256k1:brainpoolP256r1:brainpoolP512r1'),
  },
  'OpenSSL, binary curves': { start: openssl('rsa', '-tls1_2', '-curves', 'sect283k1:sect571r1:P-256') },
  'OpenSSL, ECDSA with P-256 first': {
    start: openssl('ecdsa', '-tls1_2', '-serverpref', '-curves', 'P-256:X25519:P-384'),
  },
  'OpenSSL, ECDSA, preference of the client': {
    groups: ['secp256r1', 'secp384r1', 'secp521r1'],
    start: openssl('ecdsa', '-tls1_2', '-curves', 'P-256:P-384:P-521'),
  },
  'OpenSSL, OCSP stapling and ALPN': {
    sample: true,
    stapling: true,
    start: openssl('rsa', '-status_file', 'ocsp.der', '-alpn', 'h2,http/1.1'),
  },
  'OpenSSL, OCSP stapling in TLS 1.3': {
    stapling: true,
    start: openssl('rsa', '-tls1_3', '-status_file', 'ocsp.der', '-alpn', 'http/1.1'),
  },
  'OpenSSL, OCSP stapling in TLS 1.0': {
    stapling: true,
    start: openssl('rsa', '-tls1', '-status_file', 'ocsp.der', ...weak('ALL')),
  },
  'OpenSSL, no tickets': { start: openssl('rsa', '-no_ticket', '-alpn', 'http/1.1') },
  'OpenSSL, compression': { start: openssl('rsa', '-comp', '-tls1_2', ...weak('ALL')) },
  'OpenSSL, client certificate': { start: openssl('rsa', '-Verify', '1', '-alpn', 'h2') },
  'OpenSSL, client certificate in TLS 1.2': {
    stapling: true,
    start: openssl('rsa', '-tls1_2', '-Verify', '1', '-alpn', 'h2', '-status_file', 'ocsp.der'),
  },
  'GnuTLS, defaults': {
    stapling: true,
    start: gnutls(['rsa', 'ecdsa'], 'NORMAL', '--noticket'),
  },
  'GnuTLS, legacy': {
    sample: true,
    start: gnutls(['rsa'], 'LEGACY:+VERS-TLS1.0:+VERS-TLS1.1:+ARCFOUR-128:+3DES-CBC:+SHA1:%COMPAT'),
  },
  'GnuTLS, anonymous and NULL': {
    start: gnutls(['rsa'], 'NORMAL:-VERS-TLS1.3:+ANON-ECDH:+ANON-DH:+NULL:+MD5'),
  },
  'GnuTLS, Camellia with GCM': {
    start: gnutls(['rsa'], 'NORMAL:-VERS-ALL:+VERS-TLS1.2:-CIPHER-ALL:+CAMELLIA-128-GCM:+CAMELLIA-256-GCM'),
  },
  'GnuTLS, secure': { start: gnutls(['ecdsa-384'], 'SECURE192:%SERVER_PRECEDENCE', '--alpn', 'h2') },
  'GnuTLS, TLS 1.3 with CCM': {
    start: gnutls(['ecdsa'], 'NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-CCM:+AES-128-CCM-8'),
  },
  'Node.js, defaults': {
    groups: NODE_GROUPS,
    stapling: true,
    start: node('ecdsa', { ALPNProtocols: ['h2', 'http/1.1'] }),
  },
  'Node.js, post-quantum': {
    groups: ['X25519MLKEM768', 'x25519'],
    start: node('rsa', { ecdhCurve: 'X25519MLKEM768:X25519' }),
  },
  'Node.js, only post-quantum': {
    groups: ['X25519MLKEM768', 'SecP256r1MLKEM768'],
    start: node('rsa', { ecdhCurve: 'X25519MLKEM768:SecP256r1MLKEM768', minVersion: 'TLSv1.3' }),
  },
  'Node.js, OCSP stapling': {
    groups: NODE_GROUPS,
    stapling: true,
    start: node('rsa', { ALPNProtocols: ['http/1.1'] }, true),
  },
  'Node.js, Brainpool in TLS 1.3': {
    groups: ['brainpoolP256r1tls13', 'secp384r1'],
    start: node('rsa', { ecdhCurve: 'brainpoolP256r1tls13:P-384', minVersion: 'TLSv1.3' }),
  },
  'Node.js, TLS 1.0 to 1.3': {
    groups: NODE_GROUPS,
    start: node('rsa', { minVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0', honorCipherOrder: true }),
  },
  'Node.js 0.12, everything': {
    start: oldNode('rsa', {
      ciphers: 'ALL:eNULL:EXPORT:LOW',
      dhparam: 'dh1024.pem',
      NPNProtocols: ['http/1.1'],
    }),
  },
  'Node.js 0.12, defaults': { start: oldNode('rsa', {}) },
  'Node.js 0.12, SSL 3.0': {
    start: oldNode('rsa', { secureProtocol: 'SSLv3_method', ciphers: 'ALL', dhparam: 'dh2048.pem' }),
  },
  'Node.js 0.12, RC4': {
    groups: ['secp256r1'],
    start: oldNode('rsa', { ciphers: 'RC4', honorCipherOrder: true }),
  },
  'Node.js 0.12, 3DES, IDEA and SEED': {
    groups: ['secp256r1'],
    start: oldNode('rsa', { ciphers: '3DES:IDEA:SEED' }),
  },
  'Node.js 0.12, static curve': { start: oldNode('ecdsa', { ciphers: 'ECDH:ECDSA' }) },
  'Node.js 0.12, DSA': {
    groups: ['secp256r1'],
    start: oldNode('dsa', { ciphers: 'ALL', dhparam: 'dh1024.pem' }),
  },
  'Node.js 0.12, binary curve': {
    groups: ['sect283r1'],
    start: oldNode('rsa', { ciphers: 'EECDH', ecdhCurve: 'sect283r1' }),
  },
  'nginx, defaults': { stapling: true, start: nginx(['rsa']) },
  'nginx, intermediate': {
    start: nginx(
      ['rsa', 'ecdsa'],
      'ssl_protocols TLSv1.2 TLSv1.3; ssl_prefer_server_ciphers off; ssl_dhparam dh2048.pem;',
      'ssl_ciphers ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305:DHE-RSA-AES128-GCM-SHA256;',
    ),
  },
  'nginx, old': {
    start: nginx(
      ['rsa'],
      'ssl_protocols TLSv1 TLSv1.1 TLSv1.2; ssl_ciphers ALL:@SECLEVEL=0; ssl_prefer_server_ciphers on;',
    ),
  },
  'nginx, stapling and client certificate': {
    stapling: true,
    start: nginx(
      ['rsa'],
      'ssl_stapling on; ssl_stapling_file ocsp.der; ssl_verify_client on; ssl_client_certificate rsa.crt;',
    ),
  },
  'answers after 20 ms': { start: behind({ delayMs: 20 }, openssl('rsa')) },
  'one connection at a time': { sample: true, start: behind({ maximum: 1 }, openssl('rsa', '-alpn', 'h2')) },
  'closes instead of sending alerts': {
    groups: OPENSSL_CURVES,
    start: behind({ hidesAlerts: true }, openssl('ecdsa', '-tls1_2')),
  },
  'intolerant of TLS 1.3': {
    groups: OPENSSL_CURVES,
    start: behind({ refuses: TLS_13_OFFERED }, openssl('rsa')),
  },
};
