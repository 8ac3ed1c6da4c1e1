"""Records how a device answers questions. It needs torch and Python's own library, nothing else."""
