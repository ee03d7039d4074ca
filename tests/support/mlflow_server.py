"""A server of MLflow alone, on a database in a folder, that can be stopped for a while."""

import os
import signal

from local_servers import answers, free_port, module
from template import copy_tracker
from waiting import until


class MlflowServer:
    def __init__(self, folder, *options):
        self.folder, self.options, self._child = folder, options, None
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self):
        copy_tracker(self.folder / "mlflow.db", "mlflow-artifacts:")
        command = ["mlflow", "server", "--host", "127.0.0.1", "--port", str(self.port), "--workers", "1"]
        command += ["--backend-store-uri", f"sqlite:///{self.folder}/mlflow.db", "--serve-artifacts"]
        command += ["--artifacts-destination", str(self.folder / "artifacts"), *self.options]
        environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        self._child = module(command, self.folder / "log", environment)
        until(lambda: answers(f"{self.url}/health"), "MLflow", self._child, pause=0.2)
        return self

    def signal(self, number):
        os.killpg(self._child.pid, number)

    def kill(self):
        if self._child is not None and self._child.poll() is None:
            self.signal(signal.SIGKILL)
            self._child.wait(600)
