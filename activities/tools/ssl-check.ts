import { commonNames } from '../../egress/peerCertificates.ts';
import { probeTls } from '../../egress/probe.ts';
import { invalidInput } from '../../schemas/errors.ts';
import { parseHostPort } from '../../schemas/formats/hostPort.ts';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import { CHECK_MS, type default as definition, HTTPS_PORT, SCAN_MS } from '../../schemas/tools/ssl-check.ts';
import { describe, describeOwn, readChain } from '../certificates/chain.ts';
import { matchHost } from '../certificates/matchHost.ts';
import { weakness } from '../certificates/weakness.ts';
import type { NetworkContext } from '../runtime/context.ts';
import { scanCiphers } from '../tls/cipherScan.ts';
import { grade, isPostQuantum } from '../tls/grade.ts';

type Output = ToolOutput<typeof definition>;

/** Milliseconds reserved for reporting a slow target before the attempt times out. */
const RESERVE_MS = 200;

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
  const { leaf, issuers, names } = readChain(presented.chain);
  const matchedBy = matchHost(host, names, commonNames(leaf));
  const chainError = presented.chainError ?? weakness([leaf, ...issuers], egress.rootOf);
  const offered = wantsScan ? await scanCiphers(egress, vetted, limitsFor(scanMs)) : null;
  return {
    host: host.kind === 'name' ? host.name : host.address,
    ...describeOwn(leaf, names),
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
