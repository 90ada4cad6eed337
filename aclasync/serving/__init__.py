"""Serving models: pieces for any ASGI application, and a server that runs from one command.

app = Starlette(lifespan=lifespan("acl.json", models={"digits": "digits.onnx"}))

async def handler(request):
    outputs = await serving_of(request.app)["digits"].infer({"image": image})
"""

from __future__ import annotations

from .app import make_app as make_app
from .app import protocol_routes as protocol_routes
from .batching import BatchedModel as BatchedModel
from .batching import Batcher as Batcher
from .batching import BatchReport as BatchReport
from .batching import Runnable as Runnable
from .errors import BadRequestError as BadRequestError
from .errors import DeadlineError as DeadlineError
from .errors import DeviceLostError as DeviceLostError
from .errors import DrainingError as DrainingError
from .errors import EncodingError as EncodingError
from .errors import ModelFailedError as ModelFailedError
from .errors import QueueFullError as QueueFullError
from .errors import ServingError as ServingError
from .errors import SlowBodyError as SlowBodyError
from .errors import TooLargeError as TooLargeError
from .errors import UnknownModelError as UnknownModelError
from .infer import BodyLimits as BodyLimits
from .lifespan import Lifespan as Lifespan
from .lifespan import LifespanMiddleware as LifespanMiddleware
from .lifespan import Serving as Serving
from .lifespan import lifespan as lifespan
from .lifespan import open_serving as open_serving
from .lifespan import serving_of as serving_of
from .queueing import Limits as Limits
from .repository import RepositoryError as RepositoryError
from .server import ServeOptions as ServeOptions
from .server import listen as listen
from .server import serve as serve
from .store import Hosted as Hosted
from .store import ModelStore as ModelStore
from .workers import run_workers as run_workers
