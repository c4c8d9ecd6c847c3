/** Keep all connections of Chromium on the proxy, with or without a network namespace. */
const EGRESS = [
  // By default loopback bypasses the proxy.
  '--proxy-bypass-list=<-loopback>',
  // Only the proxy resolves names.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-quic',
  '--dns-prefetch-disable',
  '--no-pings',
];

/** Turn off features for interactive users, background traffic and telemetry. */
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
  // WebUI…: pages of the browser's interface, created again for each context at more cost than the captured page.
  // SpareRenderer…: the next context cannot use it.
  '--disable-features=AcceptCHFrame,AutofillServerCommunication,CertificateTransparencyComponentUpdater,DialMediaRouteProvider,DnsOverHttpsUpgrade,GlobalMediaControls,HttpsFirstBalancedMode,HttpsFirstBalancedModeAutoEnable,HttpsFirstModeIncognito,HttpsUpgrades,InterestFeedContentSuggestions,MediaRouter,NetworkTimeServiceQuerying,OptimizationHints,PaintHolding,SpareRendererForSitePerProcess,Translate,WebUIOmniboxAimPopup,WebUIOmniboxPopup,WebUIReloadButton',
];

/** Make captures reproducible, and render although no window is visible. */
const PICTURE = [
  '--headless',
  '--hide-scrollbars',
  '--font-render-hinting=none',
  '--force-color-profile=srgb',
  '--lang=en-US',
  '--accept-lang=en-US,en',
  // A mouse: without one pages choose their touch layout (types of Blink's web_preferences).
  '--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4',
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  // Shared memory is kept in the profile: /dev/shm is shared with other programs, and small in a container.
  '--disable-dev-shm-usage',
  '--disable-hang-monitor',
];

/** Software rendering only, so that captures do not depend on the graphics card. */
const RENDERERS = {
  software: ['--disable-gpu'],
  swiftshader: ['--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
} as const;
export type Renderer = keyof typeof RENDERERS;

/** Chromium's flags, without those of proxy and sandbox, which `boundary.ts` adds. */
export const chromiumFlags = (profile: string, renderer: Renderer = 'software'): string[] => [
  ...EGRESS,
  ...QUIET,
  ...PICTURE,
  ...RENDERERS[renderer],
  `--user-data-dir=${profile}`,
  '--remote-debugging-pipe',
];
