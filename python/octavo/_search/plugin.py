"""Tells a Dask worker of a job, when that begins and whenever a worker joins."""

from __future__ import annotations

from typing import Any

from distributed.diagnostics.plugin import WorkerPlugin

from .job import Job, forget, jobs


class JobPlugin(WorkerPlugin):
    """One job."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def setup(self, worker: Any) -> None:
        jobs[self.job.key] = self.job

    def teardown(self, worker: Any) -> None:
        forget(self.job.key)
