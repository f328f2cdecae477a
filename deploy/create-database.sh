#!/bin/sh
# Creates the user and the database of Mneme, once, on the primary: MNEME_PASSWORD is the password of the new user.
#   PGHOST=10.0.0.10 PGUSER=postgres PGPASSWORD=… MNEME_PASSWORD=… sh create-database.sh
set -eu
: "${MNEME_PASSWORD:?is the password of the new user}"
exists() { [ "$(psql --dbname postgres --tuples-only --no-align --command "$1")" = 1 ]; }
exists "SELECT 1 FROM pg_roles WHERE rolname = 'mneme'" ||
  psql --dbname postgres --set ON_ERROR_STOP=1 --set password="$MNEME_PASSWORD" <<'SQL'
CREATE ROLE mneme LOGIN PASSWORD :'password';
SQL
exists "SELECT 1 FROM pg_database WHERE datname = 'mneme'" ||
  createdb --owner mneme --encoding UTF8 --template template0 --locale C mneme
