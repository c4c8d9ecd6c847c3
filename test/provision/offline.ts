/** Port on which no program listens: the discard service of RFC 863, which current systems do not run. */
const CLOSED = 'http://127.0.0.1:9';

/**
 * Environment variables that direct npm, pip, Go and Maven to a closed port, and forbid Go to fetch modules and its own
 * other versions. The runner sets them for all tests, so that a download that is missing in `items/` fails at once.
 */
export const OFFLINE_ENV: Readonly<Record<string, string>> = {
  npm_config_registry: CLOSED,
  npm_config_fetch_retries: '0',
  npm_config_update_notifier: 'false',
  PIP_INDEX_URL: CLOSED,
  PIP_EXTRA_INDEX_URL: '',
  PIP_FIND_LINKS: '',
  PIP_RETRIES: '0',
  GOPROXY: 'off',
  GONOPROXY: 'none',
  GOTOOLCHAIN: 'local',
  MAVEN_OPTS: '-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=9 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9',
};
