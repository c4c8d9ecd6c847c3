/** What a page can do to reach another machine, each way with a port of its own to be seen at. */
export interface Way {
  name: string;
  /** Markup and script of it. `u` is a URL at its port, `p` the port. */
  html(u: string, p: number): string;
}

const script = (code: string): string => `<script>try{${code}}catch{}</script>`;
const blob = (code: string): string =>
  `URL.createObjectURL(new Blob([${JSON.stringify(code)}],{type:'text/javascript'}))`;
const way = (name: string, html: Way['html']): Way => ({ name, html });
const rtc = (urls: string, more = ''): string =>
  script(
    `const c=new RTCPeerConnection({iceServers:[{urls:'${urls}',username:'u',credential:'c'}]${more}});c.createDataChannel('d');c.createOffer().then(o=>c.setLocalDescription(o));globalThis.keep=(globalThis.keep||[]).concat(c)`,
  );

export const WAYS: readonly Way[] = [
  way('fetch', (u) => script(`fetch('${u}',{mode:'no-cors'})`)),
  way('fetch keepalive', (u) => script(`fetch('${u}',{mode:'no-cors',keepalive:true,method:'POST'})`)),
  way('XMLHttpRequest', (u) => script(`const x=new XMLHttpRequest();x.open('GET','${u}');x.send()`)),
  way('image', (u) => `<img src="${u}">`),
  way('image srcset', (u) => `<img srcset="${u} 1x">`),
  way('picture', (u) => `<picture><source srcset="${u}"><img></picture>`),
  way('Image()', (u) => script(`new Image().src='${u}'`)),
  way('input image', (u) => `<input type="image" src="${u}">`),
  way('body background', (u) => `<table background="${u}"><tr><td>x</table>`),
  way('stylesheet', (u) => `<link rel="stylesheet" href="${u}">`),
  way('@import', (u) => `<style>@import url('${u}');</style>`),
  way('css background', (u) => `<div style="background:url('${u}')">x</div>`),
  way('css list-style', (u) => `<ul><li style="list-style-image:url('${u}')">x</ul>`),
  way('css border-image', (u) => `<div style="border:5px solid;border-image:url('${u}') 1">x</div>`),
  way('css content', (u) => `<div style="content:url('${u}')">x</div>`),
  way('css mask', (u) => `<div style="mask:url('${u}#m');height:5px">x</div>`),
  way(
    'font',
    (u, p) =>
      `<style>@font-face{font-family:f${p};src:url('${u}')}</style><p style="font-family:f${p}">x</p>`,
  ),
  way('FontFace()', (u, p) => script(`new FontFace('g${p}','url(${u})').load().catch(()=>0)`)),
  way('script', (u) => `<script async src="${u}"></script>`),
  way('module script', (u) => `<script type="module" src="${u}"></script>`),
  way('dynamic import', (u) => script(`import('${u}').catch(()=>0)`)),
  way('iframe', (u) => `<iframe src="${u}"></iframe>`),
  way('iframe srcdoc', (u) => `<iframe srcdoc="<img src='${u}'>"></iframe>`),
  way('iframe data:', (u) => `<iframe src="data:text/html,<img src='${u}'>"></iframe>`),
  way(
    'iframe blob:',
    (u) =>
      `<iframe id="bl${u.length}${u.slice(-6, -1)}"></iframe>${script(
        `document.currentScript.previousElementSibling.src=URL.createObjectURL(new Blob(["<img src='${u}'>"],{type:'text/html'}))`,
      )}`,
  ),
  way('iframe javascript:', (u) => `<iframe src="javascript:'<img src=${u}>'"></iframe>`),
  way('iframe sandbox', (u) => `<iframe sandbox src="${u}"></iframe>`),
  way('object', (u) => `<object data="${u}"></object>`),
  way('embed', (u) => `<embed src="${u}">`),
  way('video', (u) => `<video src="${u}" preload="auto"></video>`),
  way('video poster', (u) => `<video poster="${u}"></video>`),
  way('audio', (u) => `<audio src="${u}" preload="auto"></audio>`),
  way('svg image', (u) => `<svg><image href="${u}" width="5" height="5"/></svg>`),
  way(
    'svg feImage',
    (u) =>
      `<svg><filter id="fi${u.length}"><feImage href="${u}"/></filter><rect width="5" height="5" filter="url(#fi${u.length})"/></svg>`,
  ),
  way('preload', (u) => `<link rel="preload" as="image" href="${u}">`),
  way('prefetch', (u) => `<link rel="prefetch" href="${u}">`),
  way('modulepreload', (u) => `<link rel="modulepreload" href="${u}">`),
  way('preconnect', (u) => `<link rel="preconnect" href="${u}">`),
  way('dns-prefetch', (u) => `<link rel="dns-prefetch" href="${u}">`),
  way('icon', (u) => `<link rel="icon" href="${u}">`),
  way('manifest', (u) => `<link rel="manifest" href="${u}">`),
  way(
    'speculation rules',
    (u) =>
      `<script type="speculationrules">{"prefetch":[{"source":"list","urls":["${u}"],"eagerness":"immediate"}]}</script>`,
  ),
  way('beacon', (u) => script(`navigator.sendBeacon('${u}','x')`)),
  way(
    'ping',
    (u) => `<a href="#" ping="${u}">x</a>${script(`document.currentScript.previousElementSibling.click()`)}`,
  ),
  way('EventSource', (u) => script(`new EventSource('${u}')`)),
  way('WebSocket', (u) => script(`new WebSocket('${u.replace('http', 'ws')}')`)),
  way('worker fetch', (u) => script(`new Worker(${blob(`fetch('${u}',{mode:'no-cors'})`)})`)),
  way('worker importScripts', (u) => script(`new Worker(${blob(`importScripts('${u}')`)})`)),
  way('worker WebSocket', (u) =>
    script(`new Worker(${blob(`new WebSocket('${u.replace('http', 'ws')}')`)})`),
  ),
  way('worker in worker', (u) =>
    script(
      `new Worker(${blob(`new Worker(URL.createObjectURL(new Blob(["fetch('${u}',{mode:'no-cors'})"])))`)})`,
    ),
  ),
  way('shared worker', (u) => script(`new SharedWorker(${blob(`fetch('${u}',{mode:'no-cors'})`)})`)),
  way('service worker', (u) => script(`navigator.serviceWorker.register('/sw?${encodeURIComponent(u)}')`)),
  way('popup', (u) => script(`open('${u}')`)),
  way('popup noopener', (u) => script(`open('${u}','_blank','noopener')`)),
  way(
    'form _blank',
    (u) =>
      `<form action="${u}" target="_blank"></form>${script(`document.currentScript.previousElementSibling.submit()`)}`,
  ),
  way(
    'form iframe',
    (u, p) =>
      `<iframe name="n${p}"></iframe><form method="post" action="${u}" target="n${p}"></form>${script(`document.currentScript.previousElementSibling.submit()`)}`,
  ),
  way('meta refresh', (u) => `<iframe srcdoc="<meta http-equiv=refresh content='0;url=${u}'>"></iframe>`),
  way('csp report', (u) => `<iframe src="/csp?${encodeURIComponent(u)}"></iframe>`),
  way('redirect', (u) => `<img src="/redirect?${encodeURIComponent(u)}">`),
  way('redirect iframe', (u) => `<iframe src="/redirect?${encodeURIComponent(u)}"></iframe>`),
  way('link header', (u) => `<iframe src="/linked?${encodeURIComponent(u)}"></iframe>`),
  way('localhost', (_, p) => `<img src="http://localhost:${p}/">`),
  way('short address', (_, p) => `<img src="http://127.1:${p}/">`),
  way('other loopback', (_, p) => `<img src="http://0.0.0.0:${p}/">`),
  way('rebinding', (_, p) => `<img src="http://rebind.example.com:${p}/">`),
  way('https', (_, p) => `<img src="https://127.0.0.1:${p}/">`),
  way('STUN over UDP', (_, p) => rtc(`stun:127.0.0.1:${p}`)),
  way('TURN over UDP', (_, p) => rtc(`turn:127.0.0.1:${p}?transport=udp`)),
  way('TURN over TCP', (_, p) => rtc(`turn:127.0.0.1:${p}?transport=tcp`, ",iceTransportPolicy:'relay'")),
  way('WebTransport', (_, p) => script(`new WebTransport('https://127.0.0.1:${p}/').ready.catch(()=>0)`)),
];
