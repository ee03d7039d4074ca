"""A long history for `load`: the finished training of a home, copied in both databases.

Copies are rows, read from the databases and written back under other ids: what the servers keep of a run (its
states, steps, log lines, artifacts; metrics, parameters, tags, the version), not the files that it left. They end a
quarter of an hour apart, the latest now, so 10,000 of them reach back 104 days; events are copied for the last
seven days only, which is how long Prefect keeps them. Each version has another certificate's digest, and one of a
hundred was approved, as nightly models are not all reviewed.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

APART = timedelta(minutes=15)
EVENTS = timedelta(days=7)
BATCH = 50
OF_RUN = {
    "flow_run": "id = {run}",
    "flow_run_state": "flow_run_id = {run}",
    "task_run": "flow_run_id = {run}",
    "task_run_state": "task_run_id IN (SELECT id FROM task_run WHERE flow_run_id = {run})",
    "log": "flow_run_id = {run}",
    "artifact": "flow_run_id = {run}",
}
IN_MLFLOW = {
    "runs": "run_uuid = {run}",
    "metrics": "run_uuid = {run}",
    "latest_metrics": "run_uuid = {run}",
    "params": "run_uuid = {run}",
    "tags": "run_uuid = {run}",
    "model_versions": "run_id = {run}",
    "model_version_tags": "name = 'tiny' AND CAST(version AS TEXT) = '1'",
}
REVIEW = re.compile(r"review|decision|validation_status")
EVERY = 100
"""Of so many versions one keeps the tags of its review."""
MILLISECONDS = {"start_time", "end_time", "timestamp", "creation_time", "last_updated_time"}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
MOMENT = re.compile(r"(?<![0-9])20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
Tables = dict[str, tuple[list[str], list[list[Any]]]]


def fill(databases: dict[str, str], copies: int) -> None:
    """Write the copies; `databases`: files of SQLite or addresses for psycopg2, by `prefect` and `mlflow`."""
    if "prefect" in databases:
        _fill_prefect(databases["prefect"], copies)
    with closing(Database(databases["mlflow"])) as mlflow:
        run = mlflow.one("SELECT run_id FROM model_versions WHERE name = 'tiny' ORDER BY version")
        rows = mlflow.read(IN_MLFLOW, run)
        for first in range(0, copies, BATCH):
            mlflow.write(_registered(rows, run, range(first, min(first + BATCH, copies)), copies))
        mlflow.settle()


def _fill_prefect(where: str, copies: int) -> None:
    with closing(Database(where)) as prefect:
        run = prefect.one(
            "SELECT r.id FROM flow_run r JOIN flow f ON f.id = r.flow_id WHERE f.name = 'train' "
            "AND r.state_type = 'COMPLETED' ORDER BY r.start_time"
        )
        rows = prefect.read(OF_RUN, run)
        own = _ids(rows)
        events = prefect.read({"events": _of_events("resource_id", own)}, run)
        ids = ", ".join(f"'{row[events['events'][0].index('id')]}'" for row in events["events"][1])
        events |= prefect.read({"event_resources": f"event_id IN ({ids})"}, run)
        own |= _ids(events, "id")
        recent = int(EVENTS / APART)
        for first in range(0, copies, BATCH):
            some = range(first, min(first + BATCH, copies))
            prefect.write(_copied(rows, own, some))
            prefect.write(_copied(events, own, [k for k in some if k < recent]))
        prefect.settle()


def sizes(databases: dict[str, str]) -> dict[str, float]:
    """MiB of each database."""
    found = {}
    for name, where in databases.items():
        if "dbname=" in where:
            with closing(Database(where)) as database:
                size = database.one("SELECT pg_database_size(current_database())")
        else:
            size = sum(path.stat().st_size for path in Path(where).parent.glob(f"{Path(where).name}*"))
        found[name] = round(size / (1 << 20), 1)
    return found


def _of_events(column: str, own: set[str]) -> str:
    named = ", ".join(f"'prefect.{kind}.{one}'" for one in sorted(own) for kind in ("flow-run", "task-run"))
    return f"{column} IN ({named})"


def _ids(tables: Tables, column: str = "id") -> set[str]:
    """Of the rows themselves: what they refer to besides (flow, deployment) is shared by all copies."""
    return {
        row[columns.index(column)] for columns, rows in tables.values() if column in columns for row in rows
    }


def _copied(tables: Tables, own: set[str], copies: Any) -> Iterator[tuple[str, list[str], list[list[Any]]]]:
    """The rows of copy k: ids are changed, moments lie k quarters of an hour earlier."""
    text = json.dumps(tables)
    made: dict[str, tuple[list[str], list[list[Any]]]] = {}
    for k in copies:
        salt = uuid.uuid4().int

        def other(match: re.Match[str], salt: int = salt) -> str:
            found = match.group()
            return str(uuid.UUID(int=uuid.UUID(found).int ^ salt)) if found in own else found

        def earlier(match: re.Match[str], by: timedelta = k * APART) -> str:
            found = match.group()
            return str(datetime.fromisoformat(found) - by).replace(" ", found[10])

        for name, (columns, rows) in json.loads(MOMENT.sub(earlier, UUID.sub(other, text))).items():
            made.setdefault(name, (columns, []))[1].extend(rows)
    for name, (columns, rows) in made.items():
        yield name, columns, rows


def _registered(
    tables: Tables, run: str, copies: range, last: int
) -> Iterator[tuple[str, list[str], list[list[Any]]]]:
    """Copy k is version `last` + 1 − k: the newest runs have the highest numbers."""
    others = {k: uuid.uuid4().hex for k in copies}  # one run's rows lie in many tables
    for name, (columns, rows) in tables.items():
        made = []
        for k in copies:
            shift = int(k * APART.total_seconds() * 1000)
            for row in rows:
                new = [value.replace(run, others[k]) if isinstance(value, str) else value for value in row]
                for place, column in enumerate(columns):
                    if column in MILLISECONDS and new[place] is not None:
                        new[place] = int(new[place]) - shift
                    if column == "version" and name.startswith("model_version"):
                        new[place] = last + 1 - k
                if name == "model_version_tags":
                    tag, value = columns.index("key"), columns.index("value")
                    if k % EVERY and REVIEW.match(new[tag]):
                        continue
                    if new[tag] == "certificate_sha256":
                        new[value] = others[k] * 2
                made.append(new)
        yield name, columns, made


class Database:
    """Rows of SQLite or PostgreSQL, as text where the latter has types of its own."""

    def __init__(self, where: str) -> None:
        self.postgres = "dbname=" in where
        if self.postgres:
            import psycopg2

            self.connection = psycopg2.connect(where)
            self.connection.cursor().execute("SET session_replication_role = replica")  # order is no matter
        else:
            self.connection = sqlite3.connect(where, timeout=120)

    def one(self, question: str) -> Any:
        cursor = self.connection.cursor()
        cursor.execute(question)
        return cursor.fetchone()[0]

    def read(self, tables: dict[str, str], run: str) -> Tables:
        found: Tables = {}
        for name, where in tables.items():
            cursor = self.connection.cursor()
            cursor.execute(f"SELECT * FROM {name} LIMIT 0")
            columns = [column[0] for column in cursor.description]
            asked = ", ".join(f'"{c}"::text' if self.postgres else f'"{c}"' for c in columns)
            cursor.execute(f"SELECT {asked} FROM {name} WHERE {where.format(run=repr(run))}")
            found[name] = (columns, [list(row) for row in cursor.fetchall()])
        return found

    def write(self, tables: Iterator[tuple[str, list[str], list[list[Any]]]]) -> None:
        for name, columns, rows in tables:
            listed = ", ".join(f'"{column}"' for column in columns)
            cursor = self.connection.cursor()
            if not self.postgres:
                marks = ", ".join("?" * len(columns))
                cursor.executemany(f"INSERT INTO {name} ({listed}) VALUES ({marks})", rows)
                continue
            text = io.StringIO()
            csv.writer(text).writerows([[r"\N" if v is None else v for v in row] for row in rows])
            text.seek(0)
            cursor.copy_expert(f"COPY {name} ({listed}) FROM STDIN WITH (FORMAT csv, NULL '\\N')", text)
        self.connection.commit()

    def settle(self) -> None:
        """As a database that has grown over months knows its tables."""
        if self.postgres:
            self.connection.autocommit = True
        self.connection.cursor().execute("ANALYZE")

    def close(self) -> None:
        self.connection.close()
