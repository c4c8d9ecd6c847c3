import test from 'ava';
import { reportDomain } from '../../activities/mailDomain/report.ts';
import { createResolver } from '../../egress/resolver.ts';
import { askCheckdmarc } from '../helpers/checkdmarc.ts';
import { soon, stubNetwork } from '../helpers/egress.ts';
import { isRecord, type Json } from '../helpers/json.ts';
import {
  DMARC_CASES,
  MTA_STS_CASES,
  mailZone,
  POLICIES,
  SPF_CASES,
  TLS_RPT_CASES,
} from '../helpers/mailZones.ts';
import { startNamed } from '../helpers/named.ts';

const PARTS = { spf: SPF_CASES, dmarc: DMARC_CASES, tlsRpt: TLS_RPT_CASES, mtaSts: MTA_STS_CASES };

test('checkdmarc finds the same records valid, with the same look-ups and policies', async (t) => {
  t.timeout(20 * 60_000);
  const named = await startNamed({ test: mailZone() }, []);
  t.teardown(() => named.close());
  const names = Object.entries(PARTS).map(([part, cases]) => [part, cases.map(({ name }) => name)]);
  const policies = POLICIES.map(([policy]) => policy);
  const task = { ...Object.fromEntries(names), policies, port: named.port };
  const peer = await askCheckdmarc(task, (line) => t.log(line));
  if (!isRecord(peer)) return t.fail();
  t.deepEqual(
    peer.policies,
    POLICIES.map(([, valid]) => valid),
  );

  const resolver = createResolver({ servers: [named] });
  using network = await stubNetwork({});
  const verdictOn = (part: string, name: string): Json => {
    const verdicts = peer[part];
    const verdict = isRecord(verdicts) ? verdicts[name] : undefined;
    return isRecord(verdict) ? verdict : {};
  };
  for (const [part, cases] of Object.entries(PARTS))
    for (const { name, zone, valid, peer: theirs = valid } of cases) {
      const verdict = verdictOn(part, name);
      t.is(verdict.valid, theirs, `${name}: ${zone.at(-1)}`);
      if (!valid || verdict.valid !== true) continue;
      const { spf, dmarc } = await reportDomain(name, resolver, network.guard, soon());
      if (part === 'spf') t.deepEqual([spf.lookups, spf.voidLookups], [verdict.lookups, verdict.voids], name);
      if (part !== 'dmarc') continue;
      t.is(dmarc.domain, String(verdict.location));
      const ours = [dmarc.policy, dmarc.subdomainPolicy, dmarc.nonexistentSubdomainPolicy];
      t.deepEqual(ours, verdict.policies, name);
    }
});
