"""The command line: which commands there are."""

from __future__ import annotations

from typing import Annotated

import typer

from aclasync import __version__

from .check import check
from .doctor import doctor
from .dump import dump
from .explain import explain
from .init_config import init_config
from .kernel_output import kernel
from .prof import prof
from .run import run
from .schema import schema
from .serve import serve

app: typer.Typer = typer.Typer(
    name="aclasync",
    help="The ACL lifecycle of Ascend NPUs for asyncio: check a configuration, run a model, "
    "serve models, look at this machine.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(check)
app.command()(run)
app.command()(serve)
app.command()(doctor)
app.command()(explain)
app.command()(schema)
app.command("init-config")(init_config)
app.add_typer(prof, name="prof")
dump.command()(kernel)
app.add_typer(dump, name="dump")


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"aclasync {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None: ...
