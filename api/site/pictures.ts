import type { ToolDefinition } from '../../schemas/tool.ts';
import { type Html, html } from '../dashboard/frame/html.ts';

/** Size in pixels of the files, twice the size at which the landing page shows them. */
const WIDTH = 960;
const HEIGHT = 540;

interface Picture {
  /** Alternative text of the image. */
  alt: string;
  /** How it came about. */
  caption: string;
  /** Whether it shows what the tool reads instead of what it creates. */
  isInput?: true;
}

/** Pictures of tools, which `test/quality/sitePictures.ts` makes with the tools, by name. */
const PICTURES: Readonly<Record<string, Picture>> = {
  'html-to-image': {
    alt: 'A white receipt with three kinds of bread, their prices and the total, on a blue ground',
    caption: 'A receipt, rendered from HTML and CSS.',
  },
  'image-upscale': {
    alt: 'The same small sailing boat twice: in coarse squares on the left, with smooth edges on the right',
    caption: 'A part of an image before the call, and enlarged by the factor 4.',
  },
  'pdf-metadata': {
    alt: 'The two pages of a PDF: a cover with the title Annual report and the author Jane Doe, and a page of text',
    caption: 'The PDF whose metadata the example returns.',
    isInput: true,
  },
  'qr-generate': {
    alt: 'A QR code in black on white',
    caption: 'The QR code of https://example.com/menu.',
  },
  'watermark-image': {
    alt: 'Mountains and a sailing boat at sunset, with the text © Jane Doe 2026 in the lower right corner',
    caption: 'An image with the text “© Jane Doe 2026” at the opacity 0.6.',
  },
  'website-screenshot': {
    alt: 'The home page of a bakery with a menu, a headline, a drawing of bread and three prices',
    caption: 'A web page, captured with a viewport of 1440 by 810 pixels.',
  },
  'word-to-pdf': {
    alt: 'The upper half of a letter with a coloured letterhead, a heading and a table of prices',
    caption: 'The page that the tool made of a letter in RTF.',
  },
};

const pathOf = (name: string): string => `/docs/assets/pictures/${name}.webp`;

/** The files of all pictures, by the path of their URL. */
export const pictureFiles = (): [string, URL][] =>
  Object.keys(PICTURES).map((name) => [pathOf(name), new URL(`./pictures/${name}.webp`, import.meta.url)]);

/** The figure on the page of a tool; null if the tool has no picture. */
export function pictureFigure({ name }: Pick<ToolDefinition, 'name'>): Html | null {
  const picture = PICTURES[name];
  if (picture === undefined) return null;
  const { alt, caption } = picture;
  return html`<figure class="picture"><img src="${pathOf(name)}" alt="${alt}" width="${WIDTH}" height="${HEIGHT}">
<figcaption>${caption}</figcaption></figure>
`;
}

/** Whether the image of a tool shows what it creates. */
export const showsResult = ({ name }: Pick<ToolDefinition, 'name'>): boolean =>
  PICTURES[name] !== undefined && PICTURES[name].isInput !== true;

/** The small image of a tool; null if there is none. It is loaded when it comes into view. */
export function cardImage({ name }: Pick<ToolDefinition, 'name'>): Html | null {
  const picture = PICTURES[name];
  if (picture === undefined) return null;
  return html`<img src="${pathOf(name)}" alt="${picture.alt}" loading="lazy" width="${WIDTH / 2}" height="${HEIGHT / 2}">`;
}

/** The image at the top of the landing page; null if the tool has no picture. */
export function heroImage({ name }: Pick<ToolDefinition, 'name'>): Html | null {
  const picture = PICTURES[name];
  if (picture === undefined) return null;
  return html`<figure class="shot"><img src="${pathOf(name)}" alt="${picture.alt}" width="${WIDTH}" height="${HEIGHT}">
<figcaption>page.png</figcaption></figure>
`;
}
