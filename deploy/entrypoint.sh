#!/bin/sh
# Start one role of the stack. Secrets are read from files, so that neither the compose file, nor `docker inspect`,
# nor a command line shows them.
set -eu

secret() {
    cat "${HUSH_SECRETS:-/run/secrets}/$1"
}

mlflow_database() {
    echo "postgresql+psycopg2://mlflow:$(secret mlflow_db_password)@postgres:5432/mlflow"
}

log_in() {
    PREFECT_API_AUTH_STRING="hush:$(secret prefect_password)"
    MLFLOW_TRACKING_USERNAME=hush
    MLFLOW_TRACKING_PASSWORD="$(secret mlflow_password)"
    HUSH_WEBHOOK_URL="$(secret webhook_url)"  # empty: no messages (their signing secret is in /data/keys)
    export PREFECT_API_AUTH_STRING MLFLOW_TRACKING_USERNAME MLFLOW_TRACKING_PASSWORD HUSH_WEBHOOK_URL
}

# Prefect's own command line starts server, worker and runs here, so what hush's sets for them is set before it
if [ "${HUSH_LOG_FORMAT:-text}" = json ]; then
    export PREFECT_LOGGING_HANDLERS_CONSOLE_CLASS=tasks.runtime.json_logs.JsonLines
fi

case "$1" in
prefect)
    PREFECT_SERVER_API_AUTH_STRING="hush:$(secret prefect_password)"
    export PREFECT_SERVER_API_AUTH_STRING
    PREFECT_SERVER_DATABASE_CONNECTION_URL="postgresql+asyncpg://prefect:$(secret prefect_db_password)@postgres:5432/prefect"
    export PREFECT_SERVER_DATABASE_CONNECTION_URL
    exec prefect server start --host 0.0.0.0 --port 4200
    ;;
mlflow)
    MLFLOW_BACKEND_STORE_URI="$(mlflow_database)"
    export MLFLOW_BACKEND_STORE_URI
    # a login for everyone; hush's account is the first user, and alone may promote a model (registry_guard)
    MLFLOW_AUTH_CONFIG_PATH=/data/mlflow_login.ini
    MLFLOW_AUTH_ADMIN_PASSWORD="$(secret mlflow_password)"
    MLFLOW_FLASK_SERVER_SECRET_KEY="$(printf 'session %s' "$MLFLOW_AUTH_ADMIN_PASSWORD" | sha256sum | cut -d ' ' -f 1)"
    export MLFLOW_AUTH_CONFIG_PATH MLFLOW_AUTH_ADMIN_PASSWORD MLFLOW_FLASK_SERVER_SECRET_KEY
    HUSH_MLFLOW_USERS="$MLFLOW_BACKEND_STORE_URI" python -m tasks.runtime.registry_guard "$MLFLOW_AUTH_CONFIG_PATH"
    exec mlflow server --host 0.0.0.0 --port 5000 --workers 1 --app-name hush \
        --artifacts-destination /data/artifacts --serve-artifacts \
        --allowed-hosts "$HUSH_MLFLOW_HOSTS" --cors-allowed-origins "$HUSH_MLFLOW_ORIGINS"
    ;;
worker)
    log_in
    prefect --no-prompt work-pool create hush-process --type process --overwrite
    prefect --no-prompt deploy --all
    # of an older hush, whose schedule would train a second time
    for flow in train plan rehearse secrets review; do
        prefect --no-prompt deployment delete "$flow/hush" >/dev/null 2>&1 || true
    done
    exec python -m flows.worker hush-process
    ;;
hush)  # a command, in the container of the worker
    log_in
    exec "$@"
    ;;
prune)  # in the container of mlflow
    MLFLOW_BACKEND_STORE_URI="$(mlflow_database)"
    MLFLOW_TRACKING_URI="$MLFLOW_BACKEND_STORE_URI"
    export MLFLOW_BACKEND_STORE_URI MLFLOW_TRACKING_URI
    exec mlflow gc --artifacts-destination /data/artifacts --older-than "${2:-90d}"
    ;;
*)
    echo "hush: unknown role $1; give prefect, mlflow, worker, hush or prune" >&2
    exit 2
    ;;
esac
