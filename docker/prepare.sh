#!/bin/sh
# Checks that this host can run docker-compose.yml, and creates the secrets that are missing. Safe to repeat: a secret
# that exists is never changed. Each thing that is wrong is one line; the exit code is then 1.
set -u
cd "$(dirname "$0")/.." || exit 1
status=0
fault() {
  echo "prepare: $1" >&2
  status=1
}

check_host() {
  if ! version=$(docker version --format '{{.Server.Version}}' 2>/dev/null); then
    fault 'the Docker engine cannot be reached; install Docker 24 or later and start it'
    return
  fi
  [ "${version%%.*}" -ge 24 ] 2>/dev/null || fault "Docker engine $version; 24 or later is needed"
  case $(docker compose version --short 2>/dev/null) in
    v[2-9]* | [2-9]* | v[1-9][0-9]* | [1-9][0-9]*) ;;
    *) fault 'docker compose v2 is missing; install the package docker-compose-plugin' ;;
  esac
  case $(docker info --format '{{.SecurityOptions}}') in
    *rootless*)
      fault 'rootless Docker: the proxy sees one address for all clients, so limits by address would hit all of them; use a rootful engine'
      ;;
  esac
}

# Chromium's sandbox and bubblewrap create user namespaces without being root.
check_kernel() {
  read_setting() { cat "/proc/sys/$1" 2>/dev/null || echo "$2"; }
  [ "$(read_setting kernel/apparmor_restrict_unprivileged_userns 0)" = 0 ] ||
    fault 'AppArmor restricts user namespaces (Ubuntu 24.04 and later), so browser and heavy tools cannot be isolated: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, and the same in /etc/sysctl.d'
  [ "$(read_setting kernel/unprivileged_userns_clone 1)" = 1 ] ||
    fault 'user namespaces are off: sysctl -w kernel.unprivileged_userns_clone=1'
  [ "$(read_setting user/max_user_namespaces 1)" != 0 ] ||
    fault 'user namespaces are off: sysctl -w user.max_user_namespaces=15000'
}

random() { head -c "$1" /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }
# secret NAME VALUE: writes it unless it is there.
secret() {
  [ -e "secrets/$1" ] || (umask 077 && printf '%s\n' "$2" >"secrets/$1")
}
make_secrets() {
  (umask 077 && mkdir -p secrets) || exit 1
  secret master_keys "prod1:$(head -c 32 /dev/urandom | base64)"
  secret postgres_password "$(random 24)"
  secret mongodb_keyfile "$(random 64)"
  secret mongodb_root_password "$(random 24)"
  secret mongodb_uri "mongodb://utility-tools:$(random 24)@mongodb:27017/utility_tools?replicaSet=rs0&authSource=admin"
  # Empty: not used.
  for name in smtp_url stripe_secret_key stripe_webhook_secret; do
    [ -e "secrets/$name" ] || (umask 077 && : >"secrets/$name")
  done
  # The user of the containers reads them.
  chown 1000:1000 secrets secrets/* 2>/dev/null ||
    [ "$(stat -c %u secrets/master_keys)" = 1000 ] ||
    fault 'secrets/ must belong to the user of the containers: sudo chown -R 1000:1000 secrets'
}

case ${1:-} in
  '' | --check) ;;
  *)
    echo 'usage: docker/prepare.sh [--check]   (--check creates nothing)' >&2
    exit 2
    ;;
esac
check_host
check_kernel
if [ "${1:-}" != --check ]; then
  make_secrets
  [ -e .env ] || fault 'there is no .env: cp .env.example .env, and set PUBLIC_URL'
fi
exit $status
