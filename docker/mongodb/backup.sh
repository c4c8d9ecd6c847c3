#!/bin/bash
# Writes a dump of MongoDB every BACKUP_INTERVAL seconds to /backups, keeps the newest BACKUP_KEEP dumps, and records the
# result in the database, from which the orchestrators report it as a metric. `--once` writes one dump and exits with 1 if
# that failed. restore.sh restores a dump. Environment: BACKUP_URI or BACKUP_URI_FILE (root user, without a database; by
# default that of the stack), BACKUP_DATABASE (that of the service).
set -u -o pipefail
if [ -n "${BACKUP_URI_FILE:-}" ]; then BACKUP_URI=$(cat "$BACKUP_URI_FILE"); fi
# Reads the password from the secret, so that it is neither in docker-compose.yml nor in `docker inspect`.
: "${BACKUP_URI:=mongodb://root:$(cat /run/secrets/mongodb_root_password)@mongodb:27017/?replicaSet=rs0&authSource=admin}"
umask 077
folder=${BACKUP_FOLDER:-/backups}

# record FIELD: sets the time of the last success or failure.
record() {
  printf '{ "_id": "backup", "%s": { "$date": "%s" } }' "$1" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" |
    mongoimport --quiet --uri "$BACKUP_URI" --db "$BACKUP_DATABASE" --collection maintenance --mode merge
}

backup() {
  local file
  # Dumps that were interrupted.
  find "$folder" -maxdepth 1 -name '*.part' -mtime +0 -delete
  file=$folder/$(date -u +%Y-%m-%dT%H%M%SZ).gz
  # Renamed when it is complete, so that an interrupted dump does not look like a backup.
  if mongodump --quiet --uri "$BACKUP_URI" --oplog --archive --gzip >"$file.part" && gzip --test "$file.part" &&
    sync "$file.part" && mv "$file.part" "$file"; then
    record succeededAt
    echo "backup: wrote $file"
    find "$folder" -maxdepth 1 -name '*.gz' | sort -r | tail -n "+$((BACKUP_KEEP + 1))" | xargs -r rm --
  else
    rm -f "$file.part"
    record failedAt
    echo 'backup: mongodump failed' >&2
    return 1
  fi
}

if [ "${1:-}" = --once ]; then
  backup
  exit
fi
trap 'exit 0' TERM INT
while :; do
  if backup; then pause=$BACKUP_INTERVAL; else pause=${BACKUP_RETRY:-300}; fi
  # In the background, so that a signal ends the wait.
  sleep "$pause" &
  wait $!
done
