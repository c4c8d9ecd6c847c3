#!/usr/bin/env bash
# Builds CoreDNS, the DNS server of Kubernetes, from its Go module into FOLDER/bin unless it is there, with the plugins that
# dns.yaml configures. Others, such as those for DNS providers, would take much longer to build.
#   coredns.sh FOLDER
set -euo pipefail
folder=$1
version=v1.13.2
[ ! -x "$folder/bin/coredns" ] || exit 0
echo 'coredns: building' >&2
source=$folder/coredns-source
rm -rf "$source"
mkdir -p "$source"
cd "$source"
{
  echo 'package main'
  echo 'import ('
  echo '  "github.com/coredns/coredns/coremain"'
  for plugin in cache errors kubernetes ready template; do echo "  _ \"github.com/coredns/coredns/plugin/$plugin\""; done
  echo ')'
  echo 'func main() { coremain.Run() }'
} >main.go
export CGO_ENABLED=0
go mod init coredns 2>/dev/null
go get "github.com/coredns/coredns@$version" >&2
go mod tidy >&2
go build -ldflags='-s -w' -o "$folder/bin/coredns" .
rm -rf "$source"
