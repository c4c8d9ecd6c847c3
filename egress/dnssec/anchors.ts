import type { TrustAnchor } from './zones.ts';

const anchor = (keyTag: number, digest: string): TrustAnchor => ({
  keyTag,
  algorithm: 8,
  digestType: 2,
  digest: Buffer.from(digest, 'hex'),
});

/** The keys of the root zone of 2017 and 2024 (https://data.iana.org/root-anchors/root-anchors.xml). */
export const ROOT_ANCHORS: readonly TrustAnchor[] = [
  anchor(20_326, 'e06d44b80b8f1d39a95c0b0d7c65d08458e880409bbc683457104237c7f8ec8d'),
  anchor(38_696, '683d2d0acb8c9b712a1948b27f741219298d0a450d612c483af444a4c0fb2b16'),
];
