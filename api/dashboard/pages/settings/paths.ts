/** The settings, as the page above the pages that belong to them. */
export const SETTINGS = { path: '/dashboard/settings', name: 'Settings' } as const;

export const LOG_PATH = `${SETTINGS.path}/security-log`;
export const TWO_FACTOR_PATH = `${SETTINGS.path}/two-factor`;
export const PASSKEYS_PATH = `${SETTINGS.path}/passkeys`;
export const PROFILE_PATH = `${SETTINGS.path}/profile`;
export const CLOSE_PATH = `${SETTINGS.path}/close`;
export const EXPORT_PATH = `${SETTINGS.path}/export.ndjson`;
