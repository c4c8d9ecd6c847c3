import type { X509Certificate } from 'node:crypto';
import { probeTls } from '../../egress/probe.ts';
import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import { parseHostPort } from '../../schemas/formats/hostPort.ts';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import { CHECK_MS, type default as definition, HTTPS_PORT, SCAN_MS } from '../../schemas/tools/ssl-check.ts';
import { alternativeNames } from '../certificates/alternativeNames.ts';
import { distinguishedNames } from '../certificates/distinguishedName.ts';
import { matchHost } from '../certificates/matchHost.ts';
import { readX509 } from '../certificates/readX509.ts';
import { renewal } from '../certificates/renewal.ts';
import { weakness } from '../certificates/weakness.ts';
import type { NetworkContext } from '../runtime/context.ts';
import { scanCiphers } from '../tls/cipherScan.ts';
import { grade, isPostQuantum } from '../tls/grade.ts';

type Output = ToolOutput<typeof definition>;

/** Milliseconds reserved for reporting a slow target before the attempt times out. */
const RESERVE_MS = 200;

const describe = (certificate: X509Certificate) => ({
  ...distinguishedNames(certificate),
  validFrom: certificate.validFromDate.toISOString(),
  validTo: certificate.validToDate.toISOString(),
  serialNumber: certificate.serialNumber,
  fingerprint256: certificate.fingerprint256,
});

function readCertificates(chain: readonly Buffer[]) {
  try {
    const [leaf, ...issuers] = chain.map(readX509);
    if (leaf === undefined) throw new RangeError('no certificate');
    return { leaf, issuers, names: alternativeNames(leaf.raw) };
  } catch (cause) {
    throw new ServiceError('target_failed', { detail: 'The certificate cannot be read.', cause });
  }
}

interface Context extends Pick<NetworkContext, 'egress' | 'signal' | 'deadline'> {
  /** Milliseconds that the cipher scan may take. Default: `SCAN_MS`. */
  scanMs?: number;
}

/** Performs a TLS handshake with the host and reports the certificate chain that it presents. */
export async function run(
  { host: input, survey: wantsScan }: ToolInput<typeof definition>,
  { egress, signal, deadline, scanMs = SCAN_MS }: Context,
): Promise<Output> {
  const parsed = parseHostPort(input, HTTPS_PORT);
  if (parsed.kind === 'invalid') throw invalidInput([{ pointer: '/host', message: parsed.message }]);
  const { text, port, host } = parsed;
  const target = egress.parseTarget(text, { kind: 'host', port, pointer: '/host' });
  const limitsFor = (ms: number) => ({ signal, deadline: Math.min(deadline, Date.now() + ms) - RESERVE_MS });
  const limits = limitsFor(CHECK_MS);
  const vetted = await egress.vet(target, limits);
  const presented = await probeTls(egress, vetted, limits);
  const { leaf, issuers, names } = readCertificates(presented.chain);
  const commonNames = [leaf.toLegacyObject().subject.CN ?? []].flat();
  const matchedBy = matchHost(host, names, commonNames);
  const chainError = presented.chainError ?? weakness([leaf, ...issuers], egress.rootOf);
  const offered = wantsScan ? await scanCiphers(egress, vetted, limitsFor(scanMs)) : null;
  return {
    host: host.kind === 'name' ? host.name : host.address,
    ...describe(leaf),
    ...renewal(leaf.validFromDate, leaf.validToDate, Date.now()),
    subjectAlternativeNames: names.map(({ value }) => value),
    chainValid: chainError === null,
    chainError,
    hostnameMatches: matchedBy === 'dns-san' || matchedBy === 'ip-san',
    matchedBy,
    protocol: presented.protocol,
    chain: issuers.map(describe),
    chainTruncated: presented.truncated,
    survey:
      offered === null
        ? null
        : { ...offered, grade: grade(offered), postQuantum: offered.groups.some(isPostQuantum) },
  };
}
