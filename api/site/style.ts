import { createHash } from 'node:crypto';
import { inlineStyle } from '../dashboard/frame/styleSheet.ts';

/**
 * The style sheet of the site, which each page contains: a browser can show a page as soon as it has received it, without
 * a second request.
 */
export const STYLE = inlineStyle(new URL('./site.css', import.meta.url));

/** The source with which a content security policy permits the style sheet and no other style. */
export const STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;
