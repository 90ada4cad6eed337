"""What is counted, in the words of Prometheus; read when asked, so that counting costs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from aclasync import FlushOutcome

from .lifespan import Serving
from .recording import Histogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_LABELS = ("model", "version")
_HISTOGRAMS = (
    ("aclasync_request_seconds", "Seconds from a request's arrival to its answer.", "latency"),
    ("aclasync_queue_seconds", "Seconds that the oldest request of a batch waited.", "waited"),
    ("aclasync_batch_rows", "Rows that ran together.", "batches"),
)


@final
class ServingCollector(Collector):
    """All that one server counts."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    def collect(self) -> Iterator[Metric]:
        """Yield every family."""
        yield from self._requests()
        yield from self._queues()
        yield from self._device()
        yield from self._session()

    def _requests(self) -> Iterator[Metric]:
        records = self._serving.records
        requests = CounterMetricFamily(
            "aclasync_requests", "Requests by what became of them.", labels=(*_LABELS, "outcome")
        )
        for labels, record in records.models.items():
            for outcome, count in record.outcomes.items():
                requests.add_metric((*labels, outcome), count)

        for outcome, count in records.refused.items():
            requests.add_metric(("", "", outcome), count)

        yield requests
        for name, text, attribute in _HISTOGRAMS:
            family = HistogramMetricFamily(name, text, labels=_LABELS)
            for labels, record in records.models.items():
                histogram: Histogram = getattr(record, attribute)
                sums = accumulate(histogram.counts)
                bounds = (*map(repr, map(float, histogram.bounds)), "+Inf")
                family.add_metric(labels, [*zip(bounds, sums, strict=True)], histogram.total)

            yield family

    def _queues(self) -> Iterator[Metric]:
        depth = GaugeMetricFamily(
            "aclasync_queue_depth", "Requests that wait for the device.", labels=_LABELS
        )
        running = GaugeMetricFamily(
            "aclasync_running", "Requests that are on the device.", labels=_LABELS
        )
        for hosted in self._serving.store.all():
            depth.add_metric((hosted.name, hosted.version), hosted.model.queued)
            running.add_metric((hosted.name, hosted.version), hosted.model.running)

        yield from (depth, running)

    def _device(self) -> Iterator[Metric]:
        label = (str(self._serving.device.device_id),)
        busy = CounterMetricFamily(
            "aclasync_device_busy_seconds", "Seconds that the device was at work.",
            labels=("device",),
        )  # fmt: skip
        busy.add_metric(label, self._serving.batcher.busy_seconds)
        share = GaugeMetricFamily(
            "aclasync_device_busy_share", "Share of the last ten seconds.", labels=("device",)
        )
        share.add_metric(label, self._serving.records.busy_share())
        yield from (busy, share)

    def _session(self) -> Iterator[Metric]:
        session = self._serving.session
        yield GaugeMetricFamily(
            "aclasync_sessions", "Sessions that hold the runtime open.", value=session.ref_count
        )
        flush = GaugeMetricFamily(
            "aclasync_last_flush", "How the last flush of the device's log ended.",
            labels=("outcome",),
        )  # fmt: skip
        report = session.runtime.statistics().flush_report
        for outcome in FlushOutcome:
            is_it = report is not None and report.outcome is outcome
            flush.add_metric((outcome.name.lower(),), float(is_it))

        yield flush


def registry_of(serving: Serving) -> CollectorRegistry:
    """Return everything that `/metrics` shows: the server's own, the process's, the collector's."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(ServingCollector(serving))
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


def metrics_text(registry: CollectorRegistry) -> bytes:
    """Return what a scrape gets."""
    return generate_latest(registry)
