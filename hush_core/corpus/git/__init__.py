"""git, read through a clean view: its process, refs, trees, contents, versions, histories."""
