import type { Loss } from '../../schemas/formats/changedImage.ts';
import type { ImageHeader } from './header.ts';

/**
 * Marks of gain maps: the XMP namespaces of Adobe (also of Ultra HDR) and of Apple, and the segment of ISO 21496-1. A gain map
 * is a second image behind the first one. That of Apple is recognized only by its XMP.
 */
const GAIN_MAPS = [
  'http://ns.adobe.com/hdr-gain-map/1.0/',
  'http://ns.apple.com/HDRGainMap/1.0/',
  'urn:iso:std:iso:ts:21496:-1\0',
];

/** Returns what a tool that returns one image in the format of the source loses of it, besides metadata. */
export function lossesOf(bytes: Buffer, { type, animatedPng }: ImageHeader): Loss[] {
  const losses: Loss[] = [];
  if (type === 'jpeg' && GAIN_MAPS.some((mark) => bytes.includes(mark, 0, 'latin1'))) losses.push('gain_map');
  if (animatedPng) losses.push('animation');
  return losses;
}
