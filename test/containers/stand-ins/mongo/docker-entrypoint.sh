#!/bin/bash
set -e
if [ "$(id -u)" = 0 ]; then
  find /data/db /data/configdb ! -user mongodb -exec chown mongodb '{}' +
  exec setpriv --reuid mongodb --regid mongodb --clear-groups "$0" "$@"
fi
exec "$@"
