#!/bin/sh
# Start one role of the stack. Secrets are read from files, so that neither the compose file, nor `docker inspect`,
# nor a command line shows them.
set -eu

secret() {
    cat "/run/secrets/$1"
}

login="hush:$(secret prefect_password)"
case "$1" in
prefect)
    export PREFECT_SERVER_API_AUTH_STRING="$login"
    PREFECT_SERVER_DATABASE_CONNECTION_URL="postgresql+asyncpg://hush:$(secret postgres_password)@postgres:5432/prefect"
    export PREFECT_SERVER_DATABASE_CONNECTION_URL
    exec prefect server start --host 0.0.0.0 --port 4200
    ;;
mlflow)
    MLFLOW_BACKEND_STORE_URI="postgresql+psycopg2://hush:$(secret postgres_password)@postgres:5432/mlflow"
    export MLFLOW_BACKEND_STORE_URI
    exec mlflow server --host 0.0.0.0 --port 5000 --workers 1 \
        --artifacts-destination /data/artifacts --serve-artifacts \
        --allowed-hosts "$HUSH_MLFLOW_HOSTS" --cors-allowed-origins "$HUSH_MLFLOW_ORIGINS"
    ;;
worker)
    export PREFECT_API_AUTH_STRING="$login"
    prefect --no-prompt work-pool create hush-process --type process --overwrite
    prefect --no-prompt deploy --all
    exec prefect worker start --pool hush-process --type process --with-healthcheck
    ;;
*)
    echo "hush: unknown role $1; give prefect, mlflow or worker" >&2
    exit 2
    ;;
esac
