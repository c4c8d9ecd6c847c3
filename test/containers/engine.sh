#!/usr/bin/env bash
# Runs a Docker engine on machines without one. Requires Debian 12, root, and access to package registries only.
#   engine.sh up FOLDER     starts the engine with all its data in FOLDER; prints the value for DOCKER_HOST
#   engine.sh down FOLDER   stops the engine and waits until it has ended
set -euo pipefail
command=$1 folder=$2

up() {
  mkdir -p "$folder"
  local missing=()
  command -v dockerd >/dev/null || missing+=(docker.io runc containerd iptables)
  command -v debootstrap >/dev/null || missing+=(debootstrap)
  if [ ${#missing[@]} -gt 0 ]; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >&2
  fi
  local host=unix://$folder/docker.sock
  if ! docker -H "$host" info >/dev/null 2>&1; then
    setsid dockerd --data-root "$folder/data" --exec-root "$folder/exec" --pidfile "$folder/dockerd.pid" \
      -H "$host" >"$folder/dockerd.log" 2>&1 </dev/null &
    for _ in $(seq 60); do
      docker -H "$host" info >/dev/null 2>&1 && break
      sleep 1
    done
  fi
  if ! docker -H "$host" info >/dev/null 2>&1; then
    tail -n 5 "$folder/dockerd.log" >&2
    exit 1
  fi
  echo "$host"
}

down() {
  [ -f "$folder/dockerd.pid" ] || return 0
  local pid
  pid=$(cat "$folder/dockerd.pid")
  kill "$pid" 2>/dev/null || return 0
  for _ in $(seq 60); do
    kill -0 "$pid" 2>/dev/null || return 0
    sleep 1
  done
  echo "dockerd ($pid) has not ended after 60 s; see $folder/dockerd.log" >&2
  exit 1
}

case $command in
  up | down) "$command" ;;
  *)
    echo 'Usage: engine.sh up|down FOLDER' >&2
    exit 2
    ;;
esac
