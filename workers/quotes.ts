import { createFeeds } from '../activities/gold/feeds.ts';
import { createQuotes, type Quotes } from '../activities/gold/quotes.ts';
import { createGuard } from '../egress/guard.ts';
import { ownPorts } from '../egress/own.ts';
import type { Resolver } from '../egress/resolver.ts';
import { type Env, EnvError } from '../schemas/env.ts';
import { ServiceError } from '../schemas/errors.ts';
import { type AllowEntry, allowHost } from '../schemas/formats/allow.ts';
import { parseWebUrl } from '../schemas/formats/url.ts';
import type { Store } from '../store/mongo/mongo.ts';
import { createQuoteStore } from '../store/quotes/quotes.ts';

/** Allows the host and port of a feed's URL in the egress guard. @throws EnvError when the text is not a valid URL */
function allowUrl(variable: string, text: string): AllowEntry {
  const parsed = parseWebUrl(text);
  if (parsed.kind === 'invalid') throw new EnvError(`${variable}: ${parsed.message}`);
  const { protocol, hostname, port } = parsed.url;
  return allowHost(hostname, Number(port || (protocol === 'https:' ? 443 : 80)));
}

/** The quotes of a worker that has no connection to MongoDB. */
export const noQuotes: Quotes = {
  latest: () => Promise.reject(new ServiceError('feed_unavailable')),
  close: async () => undefined,
};

/**
 * Creates the quotes of the configured price feeds. Feeds may have private addresses, so they are requested through a
 * separate egress guard, which is never used for targets of callers.
 */
export function openQuotes(
  env: Env,
  store: Store,
  resolver: Resolver,
  onFault: (feed: string, error: unknown) => void,
): Quotes {
  const { GOLD_FEED_URL: goldFeedUrl, FX_FEED_URL: fxFeedUrl } = env;
  const egress = createGuard({
    resolver,
    allow: [allowUrl('GOLD_FEED_URL', goldFeedUrl), allowUrl('FX_FEED_URL', fxFeedUrl)],
    ownPorts: ownPorts(env),
  });
  const fetchFeed = createFeeds({ egress, goldFeedUrl, fxFeedUrl });
  return createQuotes({ store: createQuoteStore(store), fetchFeed, onFault });
}
