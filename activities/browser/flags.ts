/** Flags that send all connections of Chromium through the proxy, with or without a network namespace. */
const EGRESS = [
  // By default, Chromium connects to loopback addresses without the proxy.
  '--proxy-bypass-list=<-loopback>',
  // Chromium must not resolve host names: only the proxy does.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-quic',
  '--dns-prefetch-disable',
  '--no-pings',
];

/** Flags that turn off features for interactive users, background traffic and telemetry. */
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
  // `WebUI…`: pages of the browser's own user interface, which Chromium would create again for each browser context at
  // more cost than the captured page. `SpareRenderer…`: a renderer process started in advance, which the next browser
  // context cannot use.
  '--disable-features=AcceptCHFrame,AutofillServerCommunication,CertificateTransparencyComponentUpdater,DialMediaRouteProvider,DnsOverHttpsUpgrade,GlobalMediaControls,HttpsFirstBalancedMode,HttpsFirstBalancedModeAutoEnable,HttpsFirstModeIncognito,HttpsUpgrades,InterestFeedContentSuggestions,MediaRouter,NetworkTimeServiceQuerying,OptimizationHints,PaintHolding,SpareRendererForSitePerProcess,Translate,WebUIOmniboxAimPopup,WebUIOmniboxPopup,WebUIReloadButton',
];

/** Flags that make captures reproducible, and let Chromium render without a visible window. */
const PICTURE = [
  '--headless',
  '--hide-scrollbars',
  '--font-render-hinting=none',
  '--force-color-profile=srgb',
  '--lang=en-US',
  '--accept-lang=en-US,en',
  // Reports a mouse as the only pointing device; without one, pages choose their touch layout. The numbers are the enum
  // values of Blink's web_preferences.
  '--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4',
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  // Puts files of shared memory into TMPDIR, which is the profile folder. Other programs also use /dev/shm, and in a
  // container it is small.
  '--disable-dev-shm-usage',
  '--disable-hang-monitor',
];

/** Flags that select a software renderer, so that captures do not depend on the graphics card. */
const RENDERERS = {
  software: ['--disable-gpu'],
  swiftshader: ['--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
} as const;
export type Renderer = keyof typeof RENDERERS;

/**
 * Returns Chromium's command-line flags, except those for the sandbox and the proxy, which `confine` adds.
 */
export const chromiumFlags = (profile: string, renderer: Renderer = 'software'): string[] => [
  ...EGRESS,
  ...QUIET,
  ...PICTURE,
  ...RENDERERS[renderer],
  `--user-data-dir=${profile}`,
  '--remote-debugging-pipe',
];
