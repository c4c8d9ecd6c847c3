import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { parse } from 'yaml';
import { recordAt, recordsAt } from '../helpers/json.ts';

const FOLDER = 'deploy/prometheus';
const TESTS = 'test/deploy/rules.test.yml';

const folder = mkdtempSync(join(tmpdir(), 'utility-tools-rules-'));
test.before(() => {
  cpSync(FOLDER, folder, { recursive: true });
  cpSync(TESTS, join(folder, 'rules.test.yml'));
});
test.after.always(() => rmSync(folder, { recursive: true, force: true }));

/** Runs promtool, Prometheus's own checker. */
function promtool(...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: folder, encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

const readYaml = (path: string): unknown => parse(readFileSync(path, 'utf8'));

const alerts = recordsAt(recordAt({ file: readYaml(`${FOLDER}/rules.yml`) }, 'file').groups)
  .flatMap(({ rules }) => recordsAt(rules))
  .map(({ alert }) => String(alert));

test('Prometheus accepts the example configuration with its rules', (t) => {
  const { status, output } = promtool('check', 'config', 'prometheus.yml');
  t.is(status, 0, output);
  t.true(alerts.length >= 15);
  t.is(new Set(alerts).size, alerts.length);
});

test('the unit tests of the alert rules pass', (t) => {
  const { status, output } = promtool('test', 'rules', 'rules.test.yml');
  t.is(status, 0, output);
});

test('the unit tests contain a firing case for each alert', (t) => {
  const cases = recordsAt(recordAt({ file: readYaml(TESTS) }, 'file').tests).flatMap(({ alert_rule_test }) =>
    recordsAt(alert_rule_test),
  );
  const fired = new Set(
    cases.flatMap(({ alertname, exp_alerts }) =>
      recordsAt(exp_alerts).length > 0 ? [String(alertname)] : [],
    ),
  );
  t.deepEqual(
    alerts.filter((alert) => !fired.has(alert)),
    [],
  );
});

test('the runbook has exactly one section for each alert', (t) => {
  const text = readFileSync('docs/operations.md', 'utf8');
  const [, runbook = ''] = /^## Runbook$(.*?)^## /ms.exec(text) ?? [];
  const sections = runbook
    .split(/^### /m)
    .slice(1)
    .map((text) => ({ name: text.split('\n', 1).join(), text }));
  t.deepEqual(sections.map(({ name }) => name).sort(), alerts.toSorted());
  for (const { name, text: body } of sections)
    for (const part of ['Cause', 'See', 'Do']) t.true(body.includes(`**${part}:**`), `${name}: ${part}`);
});
