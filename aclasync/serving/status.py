"""What the status page shows, as one JSON object."""

from __future__ import annotations

import time
from typing import Any

import attrs

from aclasync import FlushReport, __version__

from .lifespan import Serving
from .recording import ModelRecord, percentiles
from .store import Hosted


def status(serving: Serving) -> dict[str, Any]:
    """Return the state of a server."""
    statistics = serving.session.runtime.statistics()
    records, batcher = serving.records, serving.batcher
    return {
        "version": __version__,
        "now": time.time(),
        "started": records.started,
        "session": {
            "backend": serving.session.backend_name,
            "product": serving.session.product.name,
            "references": serving.session.ref_count,
            "config": statistics.config_source,
            "joined": serving.session.joined,
        },
        "device": {
            "id": serving.device.device_id,
            "busy_share": records.busy_share(),
            "running_for": batcher.running_for,
            "limits": _limits(serving),
        },
        "queue": len(batcher),
        "is_ending": serving.is_ending or batcher.is_draining,
        "lost": None if batcher.lost is None else str(batcher.lost),
        "models": [_model(hosted) for hosted in serving.store.all()],
        "refused": dict(records.refused),
        "failures": [attrs.asdict(failure) for failure in reversed(records.failures)],
        "flush": _flush(statistics.flush_report),
    }


def _limits(serving: Serving) -> list[dict[str, Any]]:
    effective = dict(serving.session.resolution.effective)
    return [
        {
            "name": name,
            "value": value,
            "origin": effective[name].origin.value,
            "key": effective[name].name or None,
        }
        for name, value in attrs.asdict(serving.device.limits).items()
    ]


def _model(hosted: Hosted) -> dict[str, Any]:
    record: ModelRecord = hosted.record
    p50, p95, p99 = percentiles(record.recent, (0.5, 0.95, 0.99))
    return {
        "name": hosted.name,
        "version": hosted.version,
        "is_batching": hosted.model.is_batching,
        "limits": attrs.asdict(hosted.model.limits),
        "queued": hosted.model.queued,
        "running": hosted.model.running,
        "outcomes": dict(record.outcomes),
        "p50": p50,
        "p95": p95,
        "p99": p99,
        "batches": {"bounds": list(record.batches.bounds), "counts": list(record.batches.counts)},
        "latency": {"bounds": list(record.latency.bounds), "counts": list(record.latency.counts)},
    }


def _flush(report: FlushReport | None) -> dict[str, Any] | None:
    if report is None:
        return None

    return {
        "outcome": report.outcome.name.lower(),
        "delivered": report.delivered,
        "left": report.left,
        "elapsed": report.elapsed,
        "timeout": report.timeout,
    }
