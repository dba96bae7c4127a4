"""Where work runs: in this process, or on the workers of Dask, where accuracy spreads and timing is alone on its
machine."""

from __future__ import annotations

import logging
from typing import Any, Callable, NamedTuple, Protocol

from .._errors import usage
from .job import Job, forget, jobs

Outcome = Any  # a result, or the exception


class Done(NamedTuple):
    """What `submit` gave a tag for, with its result or the exception."""

    tag: Any
    outcome: Outcome


class Pool(Protocol):
    """`takes_turns`: whether timing and judging have the same machines, so that one waits for the other."""

    takes_turns: bool

    def begin(self, job: Job) -> None:
        """Makes the job known to all workers."""

    def capacity(self) -> int:
        """How many judge at the same time."""

    def submit(self, tag: Any, function: Callable[..., Any], *args: Any, alone: bool = False) -> None:
        """`alone`: on a machine that times, when nothing else of this search runs there."""

    def wait(self) -> list[Done]:
        """At least one, where anything was submitted; what workers that died had begun begins anew on others."""

    def close(self) -> None:
        """Gives up what runs."""


class Here:
    """One after the other, in this process."""

    takes_turns = True

    def __init__(self) -> None:
        self._done: list[Done] = []
        self._key = ""

    def begin(self, job: Job) -> None:
        forget(job.key)
        jobs[job.key] = job
        self._key = job.key

    def capacity(self) -> int:
        return 1

    def submit(self, tag: Any, function: Callable[..., Any], *args: Any, alone: bool = False) -> None:
        try:
            self._done.append(Done(tag, function(*args)))
        except Exception as error:
            self._done.append(Done(tag, error))

    def wait(self) -> list[Done]:
        done, self._done = self._done, []
        return done

    def close(self) -> None:
        forget(self._key)


class Seen(NamedTuple):
    """A worker. `bench`: whether it has that resource."""

    host: str
    threads: int
    bench: bool


def _seen_by_scheduler(dask_scheduler: Any) -> list[tuple[str, int, bool]]:
    workers = dask_scheduler.workers.values()
    return [(each.host, each.nthreads, each.resources.get("bench", 0) > 0) for each in workers]


def seen(client: Any) -> list[Seen]:
    """All workers of now."""
    return [Seen(*each) for each in client.run_on_scheduler(_seen_by_scheduler)]


def checked(client: Any) -> list[Seen]:
    """The same to begin with. Raises UsageError where there are none, or plain calls are not what the client is for."""
    if not hasattr(client, "run_on_scheduler"):
        found = f"an object of type '{type(client).__name__}'"
        raise usage("workers", found, "a number of processes, or a dask.distributed.Client")
    if getattr(client, "asynchronous", False):
        raise usage("workers", "an asynchronous client", "one for plain calls: Client(..., asynchronous=False)")
    workers = seen(client)
    if not workers:
        raise usage("workers", "no worker", "at least one")
    return workers


class Cluster:
    """Dask workers. Those with the resource "bench" are on machines that time; without any, the first machine times.
    Where there are other machines, these judge, and timing goes on beside that; else both take turns. Hosts are kept
    apart, not workers: a worker that comes back has another address."""

    def __init__(self, client: Any, owned: Any = None) -> None:
        self._client, self._owned = client, owned
        self._futures: dict[Any, Any] = {}
        self._plugin = ""
        workers = checked(client)
        self._has_bench = any(each.bench for each in workers)
        named = sorted({each.host for each in workers if each.bench or not self._has_bench})
        self._bench_hosts = named if self._has_bench else named[:1]
        self.takes_turns = all(each.host in self._bench_hosts for each in workers)
        others = sorted({each.host for each in workers if each.host not in self._bench_hosts})
        self._judging_hosts = others or self._bench_hosts

    def begin(self, job: Job) -> None:
        from .plugin import JobPlugin

        if self._plugin:
            self._client.unregister_worker_plugin(self._plugin)
        self._plugin = f"octavo-search-{job.key}"
        # Also to workers that come later, and to those that come back.
        self._client.register_plugin(JobPlugin(job), name=self._plugin)

    def capacity(self) -> int:
        workers = seen(self._client)
        if not self.takes_turns:  # machines may come and go
            others = sorted({each.host for each in workers if each.host not in self._bench_hosts})
            self._judging_hosts = others or self._judging_hosts
        return max(1, sum(each.threads for each in workers if each.host in self._judging_hosts))

    def submit(self, tag: Any, function: Callable[..., Any], *args: Any, alone: bool = False) -> None:
        where = self._bench_hosts if alone else self._judging_hosts
        resources = {"bench": 1} if alone and self._has_bench else None
        future = self._client.submit(function, *args, workers=where, resources=resources, pure=False)
        self._futures[future] = tag

    def wait(self) -> list[Done]:
        from distributed import wait

        if not self._futures:
            return []
        finished = wait(list(self._futures), return_when="FIRST_COMPLETED").done
        return [self._done(future) for future in finished]

    def _done(self, future: Any) -> Done:
        tag = self._futures.pop(future)
        error = future.exception()
        return Done(tag, future.result() if error is None else error)

    def close(self) -> None:
        try:
            self._client.cancel(list(self._futures))
            if self._plugin:
                self._client.unregister_worker_plugin(self._plugin)
        finally:
            if self._owned is not None:
                self._client.close()
                self._owned.close()


def pool_of(workers: Any) -> Pool:
    """`workers`: None for this process, a number of processes on this machine, or a `distributed.Client`."""
    if workers is None:
        return Here()
    if isinstance(workers, bool) or (isinstance(workers, int) and workers < 1):
        raise usage("workers", repr(workers), "a number of processes, or a dask.distributed.Client")
    if isinstance(workers, int):
        from distributed import Client, LocalCluster

        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=None,
            resources={"bench": 1},
            silence_logs=logging.ERROR,
        )
        return Cluster(Client(cluster), cluster)
    return Cluster(workers)
