/** What keeps Chromium's own connections at the proxy, whether or not it also has a network of its own. */
const EGRESS = [
  // Loopback would go direct otherwise.
  '--proxy-bypass-list=<-loopback>',
  // Only the proxy looks names up.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-quic',
  '--dns-prefetch-disable',
  '--no-pings',
];

/** What Chromium does for somebody who sits before it, and what it tells its makers. */
const QUIET = [
  '--disable-auto-reload',
  '--disable-background-networking',
  '--disable-breakpad',
  '--disable-client-side-phishing-detection',
  '--disable-component-extensions-with-background-pages',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-domain-reliability',
  '--disable-extensions',
  '--disable-field-trial-config',
  '--disable-infobars',
  '--disable-print-preview',
  '--disable-search-engine-choice-screen',
  '--disable-sync',
  '--deny-permission-prompts',
  '--metrics-recording-only',
  '--mute-audio',
  '--no-default-browser-check',
  '--no-first-run',
  '--no-service-autorun',
  '--password-store=basic',
  // WebUI…: parts of its own interface that are pages, made anew with each context, and more work than the page that is
  // wanted. SpareRenderer…: the next context could not use it.
  '--disable-features=AcceptCHFrame,AutofillServerCommunication,CertificateTransparencyComponentUpdater,DialMediaRouteProvider,DnsOverHttpsUpgrade,GlobalMediaControls,HttpsFirstBalancedMode,HttpsFirstBalancedModeAutoEnable,HttpsFirstModeIncognito,HttpsUpgrades,InterestFeedContentSuggestions,MediaRouter,NetworkTimeServiceQuerying,OptimizationHints,PaintHolding,SpareRendererForSitePerProcess,Translate,WebUIOmniboxAimPopup,WebUIOmniboxPopup,WebUIReloadButton',
];

/** The same picture every time, and no waiting for a window that nobody sees. */
const PICTURE = [
  '--headless',
  '--hide-scrollbars',
  '--font-render-hinting=none',
  '--force-color-profile=srgb',
  '--lang=en-US',
  '--accept-lang=en-US,en',
  // A desktop has a mouse; without, pages show what is for fingers (types of Blink's web_preferences).
  '--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4',
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  // In its profile, which ends with it; /dev/shm is everybody's, and in a container small.
  '--disable-dev-shm-usage',
  '--disable-hang-monitor',
];

/** Software only: what graphics card a machine has must not show. */
const RENDERERS = {
  software: ['--disable-gpu'],
  swiftshader: ['--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
} as const;
export type Renderer = keyof typeof RENDERERS;

/** Chromium's command line, without proxy and sandbox, which `boundary.ts` decides on. */
export const chromiumFlags = (profile: string, renderer: Renderer = 'software'): string[] => [
  ...EGRESS,
  ...QUIET,
  ...PICTURE,
  ...RENDERERS[renderer],
  `--user-data-dir=${profile}`,
  '--remote-debugging-pipe',
];
