"""tasks: one step of a flow a file. Caching, storage, tracking and artifacts live here; mathematics does not.

`tasks.runtime.environment.prepare_environment()` must run before anything here imports prefect or mlflow.
"""
