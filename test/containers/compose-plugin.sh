#!/usr/bin/env bash
# Builds the Compose v2 plugin of the docker command from its Go module, for machines without it. Builds in a copy of the
# module, because `go install` rejects modules with exclude directives.
#   compose-plugin.sh FOLDER   writes FOLDER/cli-plugins/docker-compose
set -euo pipefail
version=v2.40.3
plugin=$1/cli-plugins/docker-compose
[ -x "$plugin" ] && exit
source=$(mktemp -d)
trap 'rm -rf "$source"' EXIT
module=$(go mod download -json "github.com/docker/compose/v2@$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
cp -r "$module/." "$source"
chmod -R u+w "$source"
cd "$source"
mkdir -p "$(dirname "$plugin")"
go build -ldflags="-s -w -X github.com/docker/compose/v2/internal.Version=$version" -o "$plugin" ./cmd
