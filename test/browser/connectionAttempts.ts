/**
 * One way in which a page can try to connect to another machine. Each attempt gets its own port, so that a connection
 * there identifies it.
 */
export interface ConnectionAttempt {
  name: string;
  /** Returns the markup of the attempt. `u` is a URL with the attempt's port, `p` the port. */
  html(u: string, p: number): string;
}

const script = (code: string): string => `<script>try{${code}}catch{}</script>`;
const blob = (code: string): string =>
  `URL.createObjectURL(new Blob([${JSON.stringify(code)}],{type:'text/javascript'}))`;
const attempt = (name: string, html: ConnectionAttempt['html']): ConnectionAttempt => ({ name, html });
const rtc = (urls: string, more = ''): string =>
  script(
    `const c=new RTCPeerConnection({iceServers:[{urls:'${urls}',username:'u',credential:'c'}]${more}});c.createDataChannel('d');c.createOffer().then(o=>c.setLocalDescription(o));globalThis.keep=(globalThis.keep||[]).concat(c)`,
  );

export const ATTEMPTS: readonly ConnectionAttempt[] = [
  attempt('fetch', (u) => script(`fetch('${u}',{mode:'no-cors'})`)),
  attempt('fetch keepalive', (u) => script(`fetch('${u}',{mode:'no-cors',keepalive:true,method:'POST'})`)),
  attempt('XMLHttpRequest', (u) => script(`const x=new XMLHttpRequest();x.open('GET','${u}');x.send()`)),
  attempt('image', (u) => `<img src="${u}">`),
  attempt('image srcset', (u) => `<img srcset="${u} 1x">`),
  attempt('picture', (u) => `<picture><source srcset="${u}"><img></picture>`),
  attempt('Image()', (u) => script(`new Image().src='${u}'`)),
  attempt('input image', (u) => `<input type="image" src="${u}">`),
  attempt('body background', (u) => `<table background="${u}"><tr><td>x</table>`),
  attempt('stylesheet', (u) => `<link rel="stylesheet" href="${u}">`),
  attempt('@import', (u) => `<style>@import url('${u}');</style>`),
  attempt('css background', (u) => `<div style="background:url('${u}')">x</div>`),
  attempt('css list-style', (u) => `<ul><li style="list-style-image:url('${u}')">x</ul>`),
  attempt('css border-image', (u) => `<div style="border:5px solid;border-image:url('${u}') 1">x</div>`),
  attempt('css content', (u) => `<div style="content:url('${u}')">x</div>`),
  attempt('css mask', (u) => `<div style="mask:url('${u}#m');height:5px">x</div>`),
  attempt(
    'font',
    (u, p) =>
      `<style>@font-face{font-family:f${p};src:url('${u}')}</style><p style="font-family:f${p}">x</p>`,
  ),
  attempt('FontFace()', (u, p) => script(`new FontFace('g${p}','url(${u})').load().catch(()=>0)`)),
  attempt('script', (u) => `<script async src="${u}"></script>`),
  attempt('module script', (u) => `<script type="module" src="${u}"></script>`),
  attempt('dynamic import', (u) => script(`import('${u}').catch(()=>0)`)),
  attempt('iframe', (u) => `<iframe src="${u}"></iframe>`),
  attempt('iframe srcdoc', (u) => `<iframe srcdoc="<img src='${u}'>"></iframe>`),
  attempt('iframe data:', (u) => `<iframe src="data:text/html,<img src='${u}'>"></iframe>`),
  attempt(
    'iframe blob:',
    (u) =>
      `<iframe id="bl${u.length}${u.slice(-6, -1)}"></iframe>${script(
        `document.currentScript.previousElementSibling.src=URL.createObjectURL(new Blob(["<img src='${u}'>"],{type:'text/html'}))`,
      )}`,
  ),
  attempt('iframe javascript:', (u) => `<iframe src="javascript:'<img src=${u}>'"></iframe>`),
  attempt('iframe sandbox', (u) => `<iframe sandbox src="${u}"></iframe>`),
  attempt('object', (u) => `<object data="${u}"></object>`),
  attempt('embed', (u) => `<embed src="${u}">`),
  attempt('video', (u) => `<video src="${u}" preload="auto"></video>`),
  attempt('video poster', (u) => `<video poster="${u}"></video>`),
  attempt('audio', (u) => `<audio src="${u}" preload="auto"></audio>`),
  attempt('svg image', (u) => `<svg><image href="${u}" width="5" height="5"/></svg>`),
  attempt(
    'svg feImage',
    (u) =>
      `<svg><filter id="fi${u.length}"><feImage href="${u}"/></filter><rect width="5" height="5" filter="url(#fi${u.length})"/></svg>`,
  ),
  attempt('preload', (u) => `<link rel="preload" as="image" href="${u}">`),
  attempt('prefetch', (u) => `<link rel="prefetch" href="${u}">`),
  attempt('modulepreload', (u) => `<link rel="modulepreload" href="${u}">`),
  attempt('preconnect', (u) => `<link rel="preconnect" href="${u}">`),
  attempt('dns-prefetch', (u) => `<link rel="dns-prefetch" href="${u}">`),
  attempt('icon', (u) => `<link rel="icon" href="${u}">`),
  attempt('manifest', (u) => `<link rel="manifest" href="${u}">`),
  attempt(
    'speculation rules',
    (u) =>
      `<script type="speculationrules">{"prefetch":[{"source":"list","urls":["${u}"],"eagerness":"immediate"}]}</script>`,
  ),
  attempt('beacon', (u) => script(`navigator.sendBeacon('${u}','x')`)),
  attempt(
    'ping',
    (u) => `<a href="#" ping="${u}">x</a>${script(`document.currentScript.previousElementSibling.click()`)}`,
  ),
  attempt('EventSource', (u) => script(`new EventSource('${u}')`)),
  attempt('WebSocket', (u) => script(`new WebSocket('${u.replace('http', 'ws')}')`)),
  attempt('worker fetch', (u) => script(`new Worker(${blob(`fetch('${u}',{mode:'no-cors'})`)})`)),
  attempt('worker importScripts', (u) => script(`new Worker(${blob(`importScripts('${u}')`)})`)),
  attempt('worker WebSocket', (u) =>
    script(`new Worker(${blob(`new WebSocket('${u.replace('http', 'ws')}')`)})`),
  ),
  attempt('worker in worker', (u) =>
    script(
      `new Worker(${blob(`new Worker(URL.createObjectURL(new Blob(["fetch('${u}',{mode:'no-cors'})"])))`)})`,
    ),
  ),
  attempt('shared worker', (u) => script(`new SharedWorker(${blob(`fetch('${u}',{mode:'no-cors'})`)})`)),
  attempt('service worker', (u) =>
    script(`navigator.serviceWorker.register('/sw?${encodeURIComponent(u)}')`),
  ),
  attempt('popup', (u) => script(`open('${u}')`)),
  attempt('popup noopener', (u) => script(`open('${u}','_blank','noopener')`)),
  attempt(
    'form _blank',
    (u) =>
      `<form action="${u}" target="_blank"></form>${script(`document.currentScript.previousElementSibling.submit()`)}`,
  ),
  attempt(
    'form iframe',
    (u, p) =>
      `<iframe name="n${p}"></iframe><form method="post" action="${u}" target="n${p}"></form>${script(`document.currentScript.previousElementSibling.submit()`)}`,
  ),
  attempt('meta refresh', (u) => `<iframe srcdoc="<meta http-equiv=refresh content='0;url=${u}'>"></iframe>`),
  attempt('csp report', (u) => `<iframe src="/csp?${encodeURIComponent(u)}"></iframe>`),
  attempt('redirect', (u) => `<img src="/redirect?${encodeURIComponent(u)}">`),
  attempt('redirect iframe', (u) => `<iframe src="/redirect?${encodeURIComponent(u)}"></iframe>`),
  attempt('link header', (u) => `<iframe src="/linked?${encodeURIComponent(u)}"></iframe>`),
  attempt('localhost', (_, p) => `<img src="http://localhost:${p}/">`),
  attempt('short address', (_, p) => `<img src="http://127.1:${p}/">`),
  attempt('other loopback', (_, p) => `<img src="http://0.0.0.0:${p}/">`),
  attempt('rebinding', (_, p) => `<img src="http://rebind.example.com:${p}/">`),
  attempt('https', (_, p) => `<img src="https://127.0.0.1:${p}/">`),
  attempt('STUN over UDP', (_, p) => rtc(`stun:127.0.0.1:${p}`)),
  attempt('TURN over UDP', (_, p) => rtc(`turn:127.0.0.1:${p}?transport=udp`)),
  attempt('TURN over TCP', (_, p) => rtc(`turn:127.0.0.1:${p}?transport=tcp`, ",iceTransportPolicy:'relay'")),
  attempt('WebTransport', (_, p) => script(`new WebTransport('https://127.0.0.1:${p}/').ready.catch(()=>0)`)),
];
