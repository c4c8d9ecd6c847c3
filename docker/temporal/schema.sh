#!/bin/sh
# Creates Temporal's two databases, or upgrades their schema to the version of this image. Idempotent.
set -eu
SQL_PASSWORD=$(cat /run/secrets/postgres_password)
export SQL_PASSWORD
for name in temporal visibility; do
  database=temporal
  [ "$name" = temporal ] || database=temporal_visibility
  sql() {
    temporal-sql-tool --plugin postgres12 --ep postgresql -p 5432 -u temporal --db "$database" "$@"
  }
  sql create
  sql setup-schema -v 0.0
  sql update-schema -d "/etc/temporal/schema/postgresql/v12/$name/versioned"
done
