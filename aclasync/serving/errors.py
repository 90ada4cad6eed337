"""Why a request was not answered: each branch is one HTTP status."""

from __future__ import annotations

from typing import ClassVar, final


class ServingError(Exception):
    """A request that is not answered; `status` is HTTP's number for the reason."""

    status: ClassVar[int] = 500
    #: What metrics and the access log call it.
    outcome: ClassVar[str] = "failed"
    #: Seconds after which the same request may succeed; None where it never will.
    retry_after: ClassVar[int | None] = None


@final
class BadRequestError(ServingError):
    """The request can't be understood, or is not what the model takes; the text names the input."""

    status = 400
    outcome = "bad_request"


@final
class UnknownModelError(ServingError):
    """No model of that name and version is loaded."""

    status = 404
    outcome = "unknown_model"


@final
class SlowBodyError(ServingError):
    """The request's body did not arrive in time."""

    status = 408
    outcome = "slow_body"


@final
class TooLargeError(ServingError):
    """The request's body is longer than the server takes."""

    status = 413
    outcome = "too_large"


@final
class EncodingError(ServingError):
    """The request's body is compressed in a way that this server does not know."""

    status = 415
    outcome = "bad_request"


@final
class QueueFullError(ServingError):
    """As many requests wait for this model as may; not `DrainingError`: trying again helps."""

    status = 429
    outcome = "queue_full"
    retry_after: ClassVar[int | None] = 1


@final
class ModelFailedError(ServingError):
    """The model raised; `__cause__` is what it raised."""


@final
class DrainingError(ServingError):
    """The server, or this model, takes no new requests: it is about to end."""

    status = 503
    outcome = "draining"
    retry_after: ClassVar[int | None] = 5


@final
class DeviceLostError(ServingError):
    """The device's thread has ended, so nothing can run until the server is started again."""

    status = 503
    outcome = "device_lost"


@final
class DeadlineError(ServingError):
    """The answer was not there in the time that the request had."""

    status = 504
    outcome = "deadline"
