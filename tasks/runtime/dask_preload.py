"""What a worker of a Dask cluster does first, before anything imports Prefect:

dask worker tls://scheduler.example.com:8786 --nthreads 1 --preload tasks.runtime.dask_preload
"""

from tasks.runtime.environment import prepare_environment
from tasks.runtime.error_logging import one_line_errors

prepare_environment()
one_line_errors()
