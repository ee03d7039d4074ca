"""`examples/hush.ipynb` does what it says: its cells are run in order, and it is kept without outputs."""

import io
import json
import os
import re
from contextlib import redirect_stdout
from unittest.mock import patch

import pytest
from local_servers import ROOT

NOTEBOOK = ROOT / "examples" / "hush.ipynb"


def cells(kind):
    document = json.loads(NOTEBOOK.read_text())
    return ["".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == kind]


def test_it_is_kept_without_outputs_and_its_links_lead_somewhere():
    document = json.loads(NOTEBOOK.read_text())
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in document["cells"])
    links = re.findall(r"\]\(([^)#]+)\)", "\n".join(cells("markdown")))
    assert links and all((NOTEBOOK.parent / link).is_file() for link in links)
    assert "examples/hush.ipynb" in (ROOT / "README.md").read_text()


@pytest.mark.usefixtures("prefect_harness")
def test_every_cell_runs_from_the_repository_to_the_loaded_model():
    """A whole job: the only test in which one is started from Python as a reader of the notebook does it."""
    names, said = {}, io.StringIO()
    with redirect_stdout(said), patch.dict(os.environ):  # it sets a home of its own
        for cell in cells("code"):
            exec(compile(cell, str(NOTEBOOK), "exec"), names)
    said = said.getvalue()
    assert "3 of them hold a secret" in said and "20 rounds released" in said
    assert names["verification"].rows.height == 1 and not names["verification"].refuted
    assert names["model"].approval.startswith("approved by ada")
    (planned,) = names["plan"].certificates.iter_rows(named=True)
    assert planned["bound"] <= planned["posterior"] == 1e-4
    assert names["token"] not in said
