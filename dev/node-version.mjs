// This file uses old syntax, so that old versions of Node can report that they are too old.

/** Oldest version of Node that can install the packages and start Node 24, and the oldest one that Node.js maintains. */
const OLDEST = 20;
const MAINTAINED = 22;

/**
 * Checks the version of Node that runs npm, such as '22.1.0'. It only installs the packages; the project itself runs on the
 * Node of the npm package `node`.
 *
 * @returns {string | null} a notice for the user about a version that is no longer maintained
 * @throws when the version is too old
 */
export function noticeOf(version) {
  const major = Number(version.split('.')[0]);
  if (major < OLDEST)
    throw new Error(
      `Node ${version} is too old to install this project. Install Node ${MAINTAINED} or later, and run the command again.`,
    );
  if (major < MAINTAINED)
    return `Node ${version} is no longer maintained; install Node ${MAINTAINED} or later. The project itself runs on the Node in node_modules.`;
  return null;
}
