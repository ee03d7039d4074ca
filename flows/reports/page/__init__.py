"""The reviewer's page: `report.html` of a run, one file that needs nothing else."""
