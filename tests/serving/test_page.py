"""The status page in a real browser: what it shows is what the server did."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from .models import write_repository
from .process import Server
from .wire import answer, connect, infer, post

ARTIFACTS = Path(__file__).parents[2] / "build" / "screenshots"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    config = tmp_path / "acl.json"
    config.write_text('{"StackSize": {"aicore_stack_size": 65536}}')
    models = write_repository(tmp_path / "models")
    with Server(models, tmp_path, "--config", config) as running:
        yield running


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    chromium = shutil.which("chromium")
    assert chromium is not None, "the page is tested in Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path / "profile", executable_path=chromium, args=FLAGS,
            viewport={"width": 1100, "height": 900},
        )  # fmt: skip
        opened = context.new_page()
        problems: list[str] = []
        opened.on("pageerror", lambda error: problems.append(str(error)))
        opened.on("request", lambda request: problems.extend(
            [] if "127.0.0.1" in request.url or request.url.startswith("data:") else [request.url]
        ))  # fmt: skip
        yield opened
        context.close()
        assert not problems


def test_the_page_shows_what_the_server_did(server: Server, page: Page) -> None:
    """Session, limits with their origin, models with latency and batches, errors; then its end."""
    asking = [connect(server.address) for _ in range(40)]
    for number, one in enumerate(asking):
        one.sendall(infer("scale", "x", "FP32", [number, 1]))

    for one in asking:
        assert answer(one)[0] == 200
        one.close()

    with connect(server.address) as connection:
        connection.sendall(post("/v2/models/<b>none/infer", {}))
        assert answer(connection)[0] == 404

    page.goto(server.url)
    expect(page.locator("#state")).to_have_text("ready")
    expect(page.locator("#session")).to_contain_text("embedded")
    expect(page.locator("#session")).to_contain_text("acl.json")
    stack = page.locator("#limits tr", has_text="aicore stack bytes")
    expect(stack).to_contain_text("65,536")
    expect(stack).to_contain_text("configuration: $.StackSize.aicore_stack_size")
    scale = page.locator(".model", has_text="scale").filter(has_text="version 2")
    expect(scale).to_contain_text("40")
    expect(scale.locator(".key").first).to_contain_text("p99")
    assert scale.locator("svg.batches rect").count() >= 4
    page.wait_for_function("document.querySelector('svg.latency .p50')?.points.numberOfItems >= 3")
    expect(page.locator(".model", has_text="mirror")).to_contain_text("no request answered yet")
    expect(page.locator("#failures")).to_contain_text("model '<b>none' is not loaded")
    expect(page.locator("#flush")).to_have_text("none yet in this process")

    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=ARTIFACTS / "status.png", full_page=True)
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.screenshot(path=ARTIFACTS / "status-400px.png", full_page=True)

    assert server.end(signal.SIGTERM) == 143
    expect(page.locator("#state")).to_contain_text("no answer", timeout=10_000)
