"""What a worker of a Dask cluster does first, before anything imports Prefect; what killed ones left here goes:

dask worker tls://scheduler.example.com:8786 --nthreads 1 --preload tasks.runtime.dask_preload
"""

import os

from tasks.runtime.environment import prepare_environment
from tasks.runtime.json_logs import one_line_errors

place = prepare_environment()
one_line_errors()
if os.environ.get("PREFECT_API_URL"):  # else of a cluster that a flow began, which swept before
    from tasks.leftovers import sweep_if_it_can  # imports Prefect

    sweep_if_it_can(place)
