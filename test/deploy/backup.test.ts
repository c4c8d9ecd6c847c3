import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import test from 'ava';

const SCRIPT = resolve('docker/mongodb/backup.sh');
const URI = 'mongodb://root:secret@127.0.0.1/?replicaSet=rs0';

/**
 * Runs the backup script once, with substitutes for MongoDB's programs, which no package registry publishes: `dump` is
 * the script that replaces the dump program; the substitute of the import program writes its arguments and input to a
 * file.
 */
function runBackup(t: { teardown(end: () => void): void }, dump: string, kept: readonly string[] = []) {
  const root = mkdtempSync(join(tmpdir(), 'backup-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const [bin, folder, imported] = [join(root, 'bin'), join(root, 'backups'), join(root, 'imported')];
  mkdirSync(bin);
  mkdirSync(folder);
  for (const name of kept) writeFileSync(join(folder, name), '');
  // An interrupted dump of the day before yesterday.
  const interrupted = join(folder, '2020-01-04T000000Z.gz.part');
  writeFileSync(interrupted, '');
  const before = Date.now() / 1000 - 2 * 86_400;
  utimesSync(interrupted, before, before);
  const uriFile = join(root, 'uri');
  writeFileSync(uriFile, `${URI}\n`);
  const program = (name: string, body: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  program('mongodump', dump);
  program('mongoimport', `{ echo "$@"; cat; } >${imported}`);
  const { status, stderr } = spawnSync('bash', [SCRIPT, '--once'], {
    encoding: 'utf8',
    env: {
      PATH: `${bin}:/usr/bin:/bin`,
      BACKUP_URI_FILE: uriFile,
      BACKUP_DATABASE: 'utility_tools',
      BACKUP_FOLDER: folder,
      BACKUP_KEEP: '2',
    },
  });
  const [args = '', document = ''] = readFileSync(imported, 'utf8').split('\n');
  const row: Record<string, unknown> = JSON.parse(document);
  return { status, stderr, folder, files: readdirSync(folder).sort(), args, row };
}

test('a backup file appears only when it is complete, is recorded, and replaces the oldest and interrupted ones', (t) => {
  const { status, stderr, folder, files, args, row } = runBackup(t, 'echo dump | gzip', [
    '2020-01-01T000000Z.gz',
    '2020-01-02T000000Z.gz',
  ]);
  t.is(status, 0, stderr);
  t.is(files.length, 2);
  t.is(files[0], '2020-01-02T000000Z.gz');
  t.is(gunzipSync(readFileSync(join(folder, files[1] ?? ''))).toString(), 'dump\n');
  t.true(args.includes(`--uri ${URI} `), args);
  t.true(args.includes('--db utility_tools --collection maintenance --mode merge'), args);
  t.is(row._id, 'backup');
  t.deepEqual(Object.keys(row), ['_id', 'succeededAt']);
  const { $date }: { $date: string } = JSON.parse(JSON.stringify(row.succeededAt));
  t.true(Math.abs(Date.parse($date) - Date.now()) < 60_000, $date);
});

for (const [what, dump] of [
  ['fails', 'echo dump | gzip; exit 1'],
  ['is truncated', 'echo dump | gzip | head -c 10'],
] as const)
  test(`a dump that ${what} leaves no backup, keeps the older ones, and is recorded as failed`, (t) => {
    const old = ['2020-01-01T000000Z.gz', '2020-01-02T000000Z.gz', '2020-01-03T000000Z.gz'];
    const { status, files, row } = runBackup(t, dump, old);
    t.is(status, 1);
    t.deepEqual(files, old);
    t.deepEqual(Object.keys(row), ['_id', 'failedAt']);
  });
