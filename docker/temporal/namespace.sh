#!/bin/sh
# Creates the namespace and its search attributes. The retention is longer than results of idempotency keys are kept.
# Each step is repeated until its effect is visible, because the server takes up to 10 s to load a new namespace.
# Idempotent. Fails after three minutes.
set -eu
deadline=$(($(date +%s) + 180))
# Without `passthrough`, gRPC looks up a TXT record, which takes 5 s in a network without upstream DNS.
cli() {
  temporal --address passthrough:///temporal:7233 --namespace utility-tools --tls-server-name temporal \
    --tls-ca-path /certificates/ca.crt --tls-cert-path /certificates/tls.crt --tls-key-path /certificates/tls.key "$@"
}
wait_or_fail() {
  if [ "$(date +%s)" -ge "$deadline" ]; then
    echo "Temporal is not ready after three minutes; failed step: $1. See: docker compose logs temporal" >&2
    exit 1
  fi
  sleep 1
}
until cli operator cluster health; do wait_or_fail 'health check'; done
until cli operator namespace describe >/dev/null 2>&1; do
  cli operator namespace create --retention 72h || wait_or_fail 'create the namespace'
done
until attributes=$(cli operator search-attribute list) &&
  echo "$attributes" | grep -qw Tool && echo "$attributes" | grep -qw AccountId; do
  cli operator search-attribute create --name Tool --type Keyword --name AccountId --type Keyword ||
    wait_or_fail 'create the search attributes'
done
