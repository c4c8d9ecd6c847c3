#!/bin/sh
# Creates the namespace, with a retention longer than an idempotent result is kept, and its search attributes.
# Each step is repeated until its effect is seen: the server answers before it has read a new namespace (up to 10 s).
# Safe to repeat. Fails after three minutes.
set -eu
deadline=$(($(date +%s) + 180))
# Without `passthrough`, gRPC asks for a TXT record, which takes 5 s in a network without upstream DNS.
cli() {
  temporal --address passthrough:///temporal:7233 --namespace utility-tools "$@"
}
again() {
  if [ "$(date +%s)" -ge "$deadline" ]; then
    echo "Temporal is not ready after three minutes: $1" >&2
    exit 1
  fi
  sleep 1
}
until cli operator cluster health; do again health; done
until cli operator namespace describe >/dev/null 2>&1; do
  cli operator namespace create --retention 72h || again namespace
done
until attributes=$(cli operator search-attribute list) &&
  echo "$attributes" | grep -qw Tool && echo "$attributes" | grep -qw AccountId; do
  cli operator search-attribute create --name Tool --type Keyword --name AccountId --type Keyword ||
    again 'search attributes'
done
