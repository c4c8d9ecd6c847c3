#!/bin/sh
# Writes the software bill of materials of each image of this project to sbom/<service>.cdx.json (CycloneDX 1.6). It lists
# what is installed in the image. Run it after `docker compose build`.
set -eu
cd "$(dirname "$0")/.."
mkdir -p sbom
for service in api orchestrator delivery browser cpu network heavy gateway certificates; do
  docker compose run --rm --no-deps -T --entrypoint node "$service" --input-type=module - "$service" \
    <docker/sbom.mjs >"sbom/$service.cdx.json.part"
  mv "sbom/$service.cdx.json.part" "sbom/$service.cdx.json"
done
