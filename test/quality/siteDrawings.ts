/** What `sitePictures.ts` has the tools draw. */

/** A picture of 960 by 540. */
export const SUNSET = `<svg xmlns="http://www.w3.org/2000/svg" width="960" height="540" viewBox="0 0 960 540">
<defs>
<linearGradient id="sky" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="#2b3a67"/><stop offset=".45" stop-color="#e0777d"/><stop offset=".7" stop-color="#ffd3a5"/></linearGradient>
<linearGradient id="sea" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="#e89a86"/><stop offset="1" stop-color="#22305a"/></linearGradient>
</defs>
<rect width="960" height="540" fill="url(#sky)"/>
<circle cx="640" cy="300" r="46" fill="#fff3d6"/>
<path d="M0 330L120 230L210 300L330 180L470 320L560 270L700 340L820 250L960 340V540H0Z" fill="#7a4f76"/>
<path d="M330 180L300 215L328 208L345 222L362 210L376 226Z" fill="#f6dccb"/>
<path d="M0 380L160 320L300 370L470 330L640 380L800 340L960 385V540H0Z" fill="#4a3763"/>
<rect y="385" width="960" height="155" fill="url(#sea)"/>
<path d="M600 392h84M580 410h122M612 432h60M590 456h96" stroke="#ffe9c9" stroke-width="5" opacity=".7"/>
<path d="M210 455q45 26 110 0l-10 22q-45 14-88 0Z" fill="#221b38"/>
<path d="M262 455V372l46 76Z" fill="#fbeedd"/>
<path d="M256 452V384l-32 64Z" fill="#f1c9b0"/>
</svg>`;

/** A web page for the screenshot. */
export const BAKERY = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Harbour Bakery</title>
<style>
* { box-sizing: border-box; }
body { margin: 0; font: 20px/1.5 'Noto Serif', serif; color: #2d2419; background: #fffaf3; }
header { display: flex; justify-content: space-between; padding: 30px 70px; }
header b { font-size: 26px; }
nav span { margin-left: 36px; }
.hero { display: grid; grid-template-columns: 1.05fr 1fr; gap: 60px; align-items: center; padding: 50px 70px; }
h1 { margin: 0 0 24px; font-size: 76px; line-height: 1.05; }
p { max-width: 22em; margin: 0 0 34px; font-size: 24px; color: #6b5a45; }
.button { display: inline-block; padding: 16px 30px; border-radius: 99px; background: #b4512a; color: #fff; }
.picture { height: 460px; border-radius: 28px; background: radial-gradient(circle at 32% 60%, #f3c987 0 17%, transparent 17.4%), radial-gradient(circle at 32% 60%, #c98843 0 20%, transparent 20.4%), radial-gradient(circle at 68% 42%, #efbb74 0 14%, transparent 14.4%), radial-gradient(circle at 68% 42%, #b97733 0 17%, transparent 17.4%), linear-gradient(#cfe3e2 0 55%, #8a6b4d 55%); }
.cards { display: grid; grid-template-columns: repeat(3, 1fr); gap: 30px; padding: 10px 70px; }
.cards div { padding: 24px 28px; border-radius: 20px; background: #fff; box-shadow: 0 4px 22px #5a3d1a1a; }
</style>
<header><b>Harbour Bakery</b><nav><span>Bread</span><span>Cakes</span><span>Visit us</span></nav></header>
<div class="hero">
<div><h1>Bread, slowly, since 1974</h1><p>Sourdough from the stone oven, every morning from six, at the old harbour.</p><span class="button">See today’s bread</span></div>
<div class="picture"></div>
</div>
<div class="cards"><div>Rye with caraway<br>4.20</div><div>White sourdough<br>4.80</div><div>Walnut loaf<br>5.40</div></div>
</html>`;

/** A page with this content on a blue ground. */
export const card = (content: string): string => `<!doctype html>
<style>
body { box-sizing: border-box; display: flex; flex-direction: column; justify-content: center; height: 100vh; margin: 0; padding: 0 84px; font-family: 'Noto Sans', sans-serif; color: #fff; background: linear-gradient(125deg, #0a2540, #0b5fbf 60%, #39a0ff); }
</style>
${content}`;

export const RECEIPT = `<style>
.receipt { width: 620px; margin: auto; padding: 38px 46px; border-radius: 22px; background: #fff; color: #1c2430; box-shadow: 0 20px 60px #0006; }
h1 { margin: 0 0 4px; font-size: 34px; }
small { font-size: 20px; color: #667; }
table { width: 100%; margin-top: 22px; border-collapse: collapse; font-size: 23px; }
td { padding: 10px 0; border-top: 1px solid #e3e8ee; }
td + td { text-align: right; }
.total td { font-size: 27px; font-weight: 700; }
</style>
<div class="receipt"><h1>Receipt 2026-0417</h1><small>Harbour Bakery</small>
<table><tr><td>Rye with caraway × 2<td>8.40<tr><td>White sourdough<td>4.80<tr><td>Walnut loaf<td>5.40<tr class="total"><td>Total<td>18.60</table></div>`;

/** @param icon the icon of the site as SVG */
export const SOCIAL_CARD = (icon: string): string => `<style>
.name { display: flex; align-items: center; gap: 26px; font-size: 40px; font-weight: 700; }
svg { width: 96px; height: 96px; }
rect { fill: #ffffff26; }
h1 { margin: 48px 0 26px; font-size: 88px; line-height: 1.08; letter-spacing: -.02em; }
p { margin: 0; font-size: 34px; opacity: .9; }
</style>
<div class="name">${icon}Utility Tools API</div>
<h1>20 tools behind<br>one HTTP API</h1>
<p>Fixed prices in credits. You pay only for results.</p>`;

/** A letter in RTF. */
export const LETTER = String.raw`{\rtf1\ansi\uc1{\fonttbl{\f0 Carlito;}{\f1 Caladea;}}{\colortbl;\red180\green81\blue42;\red107\green90\blue69;}\f0\fs24
{\f1\fs44\b\cf1 Harbour Bakery\par}
{\cf2 The old harbour 3, 20457 Hamburg\par\par}
14 March 2026\par\par
{\f1\fs30\b Offer for your summer party\par}\sa120
Dear Ms Doe,\par
thank you for your visit. For the party on 6 June we can bake the following, fresh on the same morning, and bring it to your garden by ten:\par
\trowd\trgaph100\clbrdrb\brdrs\cellx5000\clbrdrb\brdrs\cellx7000\clbrdrb\brdrs\cellx9000\pard\intbl\b Bread\cell Loaves\cell Price\b0\cell\row
\pard\intbl Rye with caraway\cell 12\cell 50.40\cell\row
\pard\intbl White sourdough\cell 20\cell 96.00\cell\row
\pard\intbl Walnut loaf\cell 8\cell 43.20\cell\row\pard\par
Please tell us by 20 May whether this suits you.\par
Yours sincerely\par
}`;

/** A report of two pages in RTF, with the metadata of the example of pdf-metadata. */
export const REPORT = String.raw`{\rtf1\ansi\uc1{\info{\title Annual report}{\author Jane Doe}}{\fonttbl{\f0 Carlito;}{\f1 Caladea;}}{\colortbl;\red11\green95\blue191;\red107\green118\blue132;}\f0\fs26
\par\par\par\par\par\par\par\par
{\f1\fs84\b\cf1 Annual report\par}
{\f1\fs56\cf1 2025\par}
\par
{\fs36\cf2 Jane Doe\par Harbour Bakery\par}
\page
{\f1\fs44\b\cf1 The year in figures\par}\sa160
\par
We baked 41,200 loaves, nine per cent more than in the year before. The new stone oven has been in use since March; it needs a third less wood.\par
\trowd\trgaph100\clbrdrb\brdrs\cellx4000\clbrdrb\brdrs\cellx6500\clbrdrb\brdrs\cellx9000\pard\intbl\b Bread\cell 2024\cell 2025\b0\cell\row
\pard\intbl Rye with caraway\cell 15,900\cell 17,300\cell\row
\pard\intbl White sourdough\cell 14,600\cell 15,100\cell\row
\pard\intbl Walnut loaf\cell 7,300\cell 8,800\cell\row\pard\par
Two apprentices have joined us. From May we will also deliver to the islands, on every weekday except Monday.\par
}`;
