#!/bin/sh
# Checks that this host can run docker-compose.yml, and creates missing secrets. Idempotent: existing secrets are never
# changed. Prints one line per problem; the exit code is then 1.
set -u
cd "$(dirname "$0")/.." || exit 1
status=0
fault() {
  echo "prepare: $1" >&2
  status=1
}

check_host() {
  if ! version=$(docker version --format '{{.Server.Version}}' 2>/dev/null); then
    fault 'the Docker engine cannot be reached. Install Docker 24 or later and start it.'
    return
  fi
  [ "${version%%.*}" -ge 24 ] 2>/dev/null || fault "Docker engine $version is too old. Install version 24 or later."
  case $(docker compose version --short 2>/dev/null) in
    v[2-9]* | [2-9]* | v[1-9][0-9]* | [1-9][0-9]*) ;;
    *) fault 'docker compose v2 is missing. Install the package docker-compose-plugin.' ;;
  esac
  cpus=$(docker info --format '{{.NCPU}}')
  [ "$cpus" -ge 2 ] 2>/dev/null || fault "the Docker engine has $cpus CPU. At least two are required."
  case $(docker info --format '{{.SecurityOptions}}') in
    *rootless*)
      fault 'Docker runs rootless. The proxy then sees all clients at one address, so limits per address would affect all of them together. Use an engine that runs as root.'
      ;;
  esac
}

# Chromium's sandbox and bubblewrap create unprivileged user namespaces.
check_kernel() {
  read_setting() { cat "/proc/sys/$1" 2>/dev/null || echo "$2"; }
  [ "$(read_setting kernel/apparmor_restrict_unprivileged_userns 0)" = 0 ] ||
    fault 'AppArmor restricts user namespaces (Ubuntu 24.04 and later), so browser and heavy tools cannot be isolated. Run: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, and add the setting to /etc/sysctl.d.'
  [ "$(read_setting kernel/unprivileged_userns_clone 1)" = 1 ] ||
    fault 'user namespaces are disabled. Run: sysctl -w kernel.unprivileged_userns_clone=1, and add the setting to /etc/sysctl.d.'
  [ "$(read_setting user/max_user_namespaces 1)" != 0 ] ||
    fault 'user namespaces are disabled. Run: sysctl -w user.max_user_namespaces=15000, and add the setting to /etc/sysctl.d.'
}

random() { head -c "$1" /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }
# secret NAME VALUE: creates the secret unless it exists.
secret() {
  [ -e "secrets/$1" ] || (umask 077 && printf '%s\n' "$2" >"secrets/$1")
}
make_secrets() {
  (umask 077 && mkdir -p secrets) || exit 1
  secret master_keys "prod1:$(head -c 32 /dev/urandom | base64)"
  secret postgres_password "$(random 24)"
  secret mongodb_keyfile "$(random 64)"
  secret mongodb_root_password "$(random 24)"
  secret mongodb_gateway_uri "mongodb://utility-tools-gateway:$(random 24)@mongodb:27017/utility_tools?replicaSet=rs0&authSource=admin"
  secret mongodb_uri "mongodb://utility-tools:$(random 24)@mongodb:27017/utility_tools?replicaSet=rs0&authSource=admin"
  # Empty files disable mail, Stripe and the headers of traces.
  for name in otlp_headers smtp_url stripe_secret_key stripe_webhook_secret; do
    [ -e "secrets/$name" ] || (umask 077 && : >"secrets/$name")
  done
  # The containers run as uid 1000, which must be able to read the secrets.
  chown 1000:1000 secrets secrets/* 2>/dev/null ||
    [ "$(stat -c %u secrets/master_keys)" = 1000 ] ||
    fault 'secrets/ must belong to uid 1000, the user of the containers. Run: sudo chown -R 1000:1000 secrets'
}

case ${1:-} in
  '' | --check) ;;
  *)
    echo 'Usage: docker/prepare.sh [--check]   (--check only checks and creates no secrets)' >&2
    exit 2
    ;;
esac
check_host
check_kernel
if [ "${1:-}" != --check ]; then
  make_secrets
  [ -e .env ] || fault 'the file .env is missing. Run: cp .env.example .env, then set PUBLIC_URL and TEMPORAL_UI_URL in it.'
fi
exit $status
