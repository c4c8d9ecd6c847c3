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
import { DANE_CASES, DANE_ZONE, MX_CASES, REVERSE_ZONE, signDaneZone } from '../helpers/mxZones.ts';
import { startNamed } from '../helpers/named.ts';

const PARTS = {
  spf: SPF_CASES,
  dmarc: DMARC_CASES,
  tlsRpt: TLS_RPT_CASES,
  mtaSts: MTA_STS_CASES,
  mx: MX_CASES,
};
/** Least number of domains whose records are compared. */
const DOMAINS = 100;

test('checkdmarc finds the same records valid, with the same look-ups and policies', async (t) => {
  t.timeout(20 * 60_000);
  const zones = {
    test: mailZone(MX_CASES),
    [DANE_ZONE]: await signDaneZone(),
    [REVERSE_ZONE.name]: REVERSE_ZONE.text,
  };
  const named = await startNamed(zones, []);
  t.teardown(() => named.close());
  const names = Object.entries(PARTS).map(([part, cases]) => [part, cases.map(({ name }) => name)]);
  const policies = POLICIES.map(([policy]) => policy);
  const dane = DANE_CASES.map(({ name }) => name);
  const task = {
    ...Object.fromEntries(names),
    mx: [...MX_CASES.map(({ name }) => name), ...dane],
    policies,
    port: named.port,
  };
  t.true(Object.values(PARTS).flat().length + dane.length >= DOMAINS);
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
      t.is(verdict.valid, theirs, `${name}: ${zone.at(-1)} ${verdict.faults ?? ''}`);
      if (part !== 'mx' && (!valid || verdict.valid !== true)) continue;
      const { spf, dmarc, mx } = await reportDomain(name, resolver, network.guard, soon());
      if (part === 'mx') {
        t.is(mx.valid, valid, `${name}: ${zone.at(-1)} ${mx.errors}`);
        const servers = mx.records.filter(({ exchange }) => exchange !== '.');
        t.deepEqual(
          servers.map(({ priority, exchange }) => [priority, exchange]),
          verdict.hosts,
          name,
        );
      }
      if (part === 'spf') t.deepEqual([spf.lookups, spf.voidLookups], [verdict.lookups, verdict.voids], name);
      if (part !== 'dmarc') continue;
      t.is(dmarc.domain, String(verdict.location));
      const ours = [dmarc.policy, dmarc.subdomainPolicy, dmarc.nonexistentSubdomainPolicy];
      t.deepEqual(ours, verdict.policies, name);
    }
  // checkdmarc validates signatures and reports only signed records. Whether records are authenticated is not compared: this
  // service reads that from the resolver, and BIND does not assert it for its own zones.
  for (const { name } of DANE_CASES) {
    const report = await reportDomain(name, resolver, network.guard, soon());
    const [host] = report.dane.hosts;
    const ours = host?.records.map(({ usage, selector, matchingType, association }) =>
      [usage, selector, matchingType, association].join(' '),
    );
    const theirs = verdictOn('mx', name).tlsa;
    t.deepEqual(
      { [name]: ours?.sort() },
      isRecord(theirs) ? { [name]: [theirs[name]].flat().sort() } : {},
      name,
    );
  }
});
