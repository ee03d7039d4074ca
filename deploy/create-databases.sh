#!/bin/sh
# Run once, by the database's first start: a role and a database for each server, closed to the other one's.
set -eu
for name in prefect mlflow; do
    psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set name="$name" <<'SQL'
\set password `cat "${HUSH_SECRETS:-/run/secrets}/$(echo ":name")_db_password"`
CREATE ROLE :"name" LOGIN PASSWORD :'password';
CREATE DATABASE :"name" OWNER :"name";
REVOKE CONNECT ON DATABASE :"name" FROM PUBLIC;
SQL
done
