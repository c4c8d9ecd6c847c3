#!/bin/bash
# Replaces the data of MongoDB by a dump of backup.sh, which it reads from its input:
#   docker compose exec -T mongodb bash /restore.sh < backups/….gz
# Uses the user __system, which MongoDB signs in with its key file. The dump replaces all other users, after which MongoDB
# rejects the rest of a restore by the user root: the changes made during the dump, and the indexes.
set -euo pipefail
key=$(tr -d '[:space:]' </run/secrets/mongodb_keyfile)
exec mongorestore --config <(printf 'password: %s\n' "$key") --username __system --authenticationDatabase local \
  --archive --gzip --oplogReplay --drop
