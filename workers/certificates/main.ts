import { X509Certificate } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { runMain } from '../../platform/runMain.ts';
import { EnvError } from '../../schemas/env.ts';
import { CONFINED_POOLS } from '../../schemas/pools.ts';
import { type Issued, issue } from './issue.ts';

// Creates the certificates for Temporal in the folders of its services, and renews those that expire soon. Idempotent.
//   main.ts [--rotate] FOLDER   --rotate replaces every certificate and both CAs
//
// FOLDER gets one folder per owner, each of which is a volume that only this owner mounts. Two CAs: `temporal` signs the
// server's certificate and those of clients that may use all of Temporal; `gateway` signs those of the gateway and of the
// workers behind it, which the Temporal server therefore rejects.

const CA_DAYS = 3650;
const LEAF_DAYS = 397;
/** Certificates that expire within this time are renewed. */
const RENEW_MS = 180 * 86_400_000;
/** User of the containers that read the files. */
const OWNER = 1000;

type Ca = 'temporal' | 'gateway';

interface Leaf {
  /** Folder of the owner. */
  folder: string;
  /** File name without extension. */
  file: string;
  ca: Ca;
  name: string;
  dnsNames?: readonly string[];
}

/** Each folder also gets `ca.crt`: the CA that the files `tls.*` are checked with by the other side. */
const LEAVES: readonly Leaf[] = [
  { folder: 'server', file: 'tls', ca: 'temporal', name: 'temporal', dnsNames: ['temporal'] },
  { folder: 'client', file: 'tls', ca: 'temporal', name: 'utility-tools' },
  { folder: 'ui', file: 'tls', ca: 'temporal', name: 'temporal-ui' },
  { folder: 'gateway', file: 'tls', ca: 'gateway', name: 'gateway', dnsNames: ['gateway'] },
  ...CONFINED_POOLS.map((pool): Leaf => ({ folder: pool, file: 'tls', ca: 'gateway', name: pool })),
];

/** Writes a file that only its owner can read. The name appears when the file is complete. */
function write(path: string, content: string, owner: number): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, content, { mode: 0o400 });
  if (process.getuid?.() === 0) chownSync(`${path}.new`, owner, owner);
  renameSync(`${path}.new`, path);
}

const read = (path: string): string | null => (existsSync(path) ? readFileSync(path, 'utf8') : null);

/** Whether a certificate is valid for long enough and signed by this CA. */
function isCurrent(cert: string | null, ca: string): boolean {
  if (cert === null) return false;
  const certificate = new X509Certificate(cert);
  return (
    certificate.validToDate.getTime() > Date.now() + RENEW_MS &&
    certificate.verify(new X509Certificate(ca).publicKey)
  );
}

/** Returns a CA from its folder, which only this program mounts, and creates it if necessary. */
async function ensureCa(folder: string, name: Ca, rotate: boolean): Promise<Issued> {
  const path = join(folder, 'ca', name);
  const [cert, key] = [read(`${path}.crt`), read(`${path}.key`)];
  if (!rotate && cert !== null && key !== null && isCurrent(cert, cert)) return { cert, key };
  const issued = await issue({ name: `utility-tools ${name} CA`, days: CA_DAYS, issuer: null });
  write(`${path}.key`, issued.key, 0);
  write(`${path}.crt`, issued.cert, 0);
  return issued;
}

async function ensureLeaf(
  folder: string,
  { file, ca, name, dnsNames = [], ...leaf }: Leaf,
  issuer: Issued,
): Promise<void> {
  const path = join(folder, leaf.folder);
  if (read(join(path, 'ca.crt')) !== issuer.cert) write(join(path, 'ca.crt'), issuer.cert, OWNER);
  if (isCurrent(read(join(path, `${file}.crt`)), issuer.cert) && existsSync(join(path, `${file}.key`)))
    return;
  const { cert, key } = await issue({ name, dnsNames, days: LEAF_DAYS, issuer });
  write(join(path, `${file}.key`), key, OWNER);
  write(join(path, `${file}.crt`), cert, OWNER);
  console.log(`certificates: issued ${leaf.folder}/${file}.crt (${ca} CA)`);
}

await runMain(async () => {
  const { values, positionals } = parseArgs({
    options: { rotate: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const [folder] = positionals;
  if (folder === undefined || positionals.length > 1)
    throw new EnvError('Usage: workers/certificates/main.ts [--rotate] FOLDER');
  const cas = {
    temporal: await ensureCa(folder, 'temporal', values.rotate),
    gateway: await ensureCa(folder, 'gateway', values.rotate),
  };
  for (const leaf of LEAVES) await ensureLeaf(folder, leaf, cas[leaf.ca]);
});
