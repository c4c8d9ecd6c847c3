import { create } from 'qrcode';
import { QUIET_ZONE } from '../../../../../schemas/formats/qr.ts';
import { type Html, html } from '../../../frame/html.ts';

/** Draws a QR code as an SVG picture. It is black on white in both colour schemes, so that every camera reads it. */
export function qrCode(text: string, label: string): Html {
  const { modules } = create(text, { errorCorrectionLevel: 'M' });
  const squares: string[] = [];
  for (let y = 0; y < modules.size; y++)
    for (let x = 0; x < modules.size; x++)
      if (modules.get(y, x)) squares.push(`M${x + QUIET_ZONE} ${y + QUIET_ZONE}h1v1h-1z`);
  const size = modules.size + 2 * QUIET_ZONE;
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#fff"/><path d="${squares.join('')}" fill="#000"/></svg>`;
}
