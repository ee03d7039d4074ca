"""What people read: the reports of the flows, for the terminal and for Prefect's UI."""
