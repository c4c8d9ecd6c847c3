import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const OFFICE_FOLDER = 'usr/lib/libreoffice/program';
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * Returns the folders of libraries in unpacked packages. LibreOffice's own folder is the first one, because some libraries
 * read settings beside the path at which they are found, and that folder contains links to them.
 */
function libraryFolders(root: string): string[] {
  const shared = ['usr/lib', 'lib'].flatMap((folder) =>
    list(join(root, folder)).filter((path) => path.endsWith('-linux-gnu')),
  );
  return [
    join(root, OFFICE_FOLDER),
    ...shared,
    // Library folders that programs would find by an absolute path.
    ...shared.map((folder) => join(folder, 'pulseaudio')),
  ].filter((folder) => existsSync(folder));
}

/** Returns the folders of Python's modules, some of which LibreOffice imports. */
function pythonFolders(root: string): string[] {
  const versions = list(join(root, 'usr/lib')).filter((path) => /\/python3\.\d+$/.test(path));
  return [
    ...versions.flatMap((folder) => [folder, join(folder, 'lib-dynload')]),
    join(root, 'usr/lib/python3/dist-packages'),
  ];
}

const list = (folder: string): string[] =>
  existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];

/**
 * Returns the environment variables with which programs that the tools run find programs, libraries, fonts and modules of
 * Python: those of the system and, if `root` is not null, those of the Debian packages that are unpacked in the folder `root`
 * (PROGRAMS_DIR).
 */
export function programVariables(root: string | null): Record<string, string> {
  if (root === null) return { PATH };
  return {
    PATH: [PATH, ...['usr/bin', 'bin', 'sbin'].map((folder) => join(root, folder))].join(':'),
    LD_LIBRARY_PATH: libraryFolders(root).join(':'),
    FONTCONFIG_FILE: join(root, 'fonts.conf'),
    PYTHONPATH: pythonFolders(root).join(':'),
  };
}
