"""The runs of a sweep on a Dask cluster: workers run the scenarios, and the results are saved in the caller's store.
Only this module imports Dask."""

from __future__ import annotations

import re
import secrets
from queue import Empty, Queue
from typing import Any

from elephan import backends
from elephan.backends import RawResult
from elephan.runs import execute
from elephan.runs.failures import explained
from elephan.runs.plan import Interrupted, Plan, SweepProgress, Task
from elephan.runs.result import Run
from elephan.scenario import Scenario, ScenarioError

CONNECT_S = 10
_ADDRESS = re.compile(r"(?:[a-z]+://)?(?:\[[0-9A-Fa-f:]+\]|[^\s/:\[\]]+):\d{1,5}")
_LOOK_AGAIN_S = 0.1

Answer = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]


def compute_remotely(scenario_toml: str, seed: int, on: str) -> Answer:
    """Runs a scenario on a worker; sends back the tables, the backend's summary and the provenance."""
    scenario = Scenario.from_toml(scenario_toml, source="cluster")
    made = execute.compute(backends.get(on), scenario, seed)
    origin = {key: made.manifest[key] for key in ("created", "wall_seconds", "versions", "command", "host")}
    return made.tables(), made.manifest["engine_summary"], origin


def run_on_cluster(
    plan: Plan, waiting: list[Task], address: str, progress: SweepProgress | None, *, force: bool
) -> None:
    """Hand the tasks to a cluster, and save each result when it arrives.

    Raises:
        ScenarioError: Dask is not installed, or no scheduler answers at the address.
        Interrupted, Cancelled: as in a sweep on threads; finished results are saved. A worker completes its current
        run, since Dask does not interrupt it, and the result is discarded.
    """
    client = _connect(address)
    ended: Queue[Any] = Queue()
    try:
        futures = {_submit(client, plan, task): task for task in waiting}
        for future in futures:
            future.add_done_callback(ended.put)
        try:
            while futures:
                plan.report(progress)
                _collect(plan, futures, ended, force=force)
        except KeyboardInterrupt:
            client.cancel(list(futures))
            raise Interrupted([run for run in plan.results() if run is not None]) from None
        except BaseException:
            client.cancel(list(futures))
            raise
    finally:
        client.close()


def _submit(client: Any, plan: Plan, task: Task) -> Any:
    # Each request has a unique key: the scheduler may keep the result of an earlier request from another engine
    # version.
    key = f"elephan-{task.id}-{secrets.token_hex(4)}"
    return client.submit(compute_remotely, task.scenario.to_toml(), task.seed, plan.backend.name, key=key, pure=False)


def _connect(address: str) -> Any:
    try:
        import distributed
    except ImportError:
        raise ScenarioError(
            "a cluster needs Dask; install it with: pip install 'elephan[cluster]'", source="--cluster"
        ) from None
    if _ADDRESS.fullmatch(address) is None:
        raise ScenarioError(f"'{address}' is not an address; write tcp://host:port", source="--cluster")
    try:
        connect: Any = distributed.Client
        return connect(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ScenarioError(
            f"no Dask scheduler answers at '{address}' ({error}); write tcp://host:port", source="--cluster"
        ) from None


def _collect(plan: Plan, futures: dict[Any, Task], ended: Queue[Any], *, force: bool) -> None:
    """Save the next result that arrives; returns after a short time if none arrives."""
    try:
        future = ended.get(timeout=_LOOK_AGAIN_S)
    except Empty:
        return
    task = futures.pop(future)
    try:
        frames, summary, origin = future.result()
        _check_version(plan, origin)
        task.run = plan.store.save(_assembled(plan, task, RawResult(frames, summary), origin), replace=force)
    except Exception as error:  # noqa: BLE001  (reported with its scenario; the other runs continue)
        task.error = explained(error, plan.store, task.id, task.scenario, task.seed, plan.engine)
    future.release()


def _assembled(plan: Plan, task: Task, raw: RawResult, origin: dict[str, Any]) -> Run:
    return execute.assemble(task.scenario, raw, plan.backend.name, task.seed, origin)


def _check_version(plan: Plan, origin: dict[str, Any]) -> None:
    theirs = origin["versions"]["engine"]
    if theirs != plan.engine:
        raise ScenarioError(
            f"the worker's engine is {theirs} and this one is {plan.engine}; results of both would be mixed",
            source="--cluster",
        )
