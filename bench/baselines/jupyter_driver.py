"""Drives plain ipykernels: one JSON request a line on stdin, one JSON answer a line on stdout. Ends its kernels at end of file."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

Kernel = "tuple[KernelManager, BlockingKernelClient]"
_TIMEOUT_SECONDS = 60


def start() -> Kernel:
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    client = manager.client()
    client.start_channels()
    return manager, client


def stop(kernel: Kernel) -> None:
    manager, client = kernel
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def execute(client: BlockingKernelClient, code: str) -> str:
    """Until the kernel has answered and is idle again, as a notebook does; gives what was printed."""
    request = client.execute(code)
    text = ""
    while True:
        message = client.get_iopub_msg(timeout=_TIMEOUT_SECONDS)
        if message["parent_header"].get("msg_id") != request:
            continue
        if message["msg_type"] == "stream":
            text += message["content"]["text"]
        elif message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            break
    await_reply(client, request)
    return text


def await_reply(client: BlockingKernelClient, request: str) -> dict[str, Any]:
    while True:
        reply = client.get_shell_msg(timeout=_TIMEOUT_SECONDS)
        if reply["parent_header"].get("msg_id") == request:
            return reply["content"]


class Driver:
    def __init__(self) -> None:
        self._kernel: Kernel | None = None

    def first_result(self, code: str) -> dict[str, Any]:
        """From nothing to the first result, the documented way: start, wait_for_ready, execute."""
        begin = time.perf_counter()
        kernel = start()
        try:
            kernel[1].wait_for_ready(timeout=_TIMEOUT_SECONDS)
            ready = time.perf_counter()
            text = execute(kernel[1], code)
            end = time.perf_counter()
        finally:
            stop(kernel)
        return {"durationMs": (end - begin) * 1000, "readyMs": (ready - begin) * 1000, "text": text}

    def first_reply(self, code: str, expression: str) -> dict[str, Any]:
        """As fast as a client can be: the request is sent at once and waits for the kernel; only its reply is awaited.
        (wait_for_ready alone listens for 200 ms to whether more is to come.)"""
        begin = time.perf_counter()
        kernel = start()
        try:
            request = kernel[1].execute(code, user_expressions={"answer": expression})
            content = await_reply(kernel[1], request)
            end = time.perf_counter()
        finally:
            stop(kernel)
        return {"durationMs": (end - begin) * 1000, "text": content["user_expressions"]["answer"]["data"]["text/plain"]}

    def open(self) -> dict[str, Any]:
        self._kernel = start()
        self._kernel[1].wait_for_ready(timeout=_TIMEOUT_SECONDS)
        return {"pid": self._kernel[0].provisioner.pid}

    def run(self, code: str) -> dict[str, Any]:
        assert self._kernel is not None
        return {"text": execute(self._kernel[1], code)}

    def calls(self, code: str, count: int) -> dict[str, Any]:
        assert self._kernel is not None
        samples = []
        for _ in range(count):
            begin = time.perf_counter()
            execute(self._kernel[1], code)
            samples.append((time.perf_counter() - begin) * 1000)
        return {"samples": samples}

    def close(self) -> dict[str, Any]:
        if self._kernel is not None:
            stop(self._kernel)
            self._kernel = None
        return {}


def main() -> None:
    driver = Driver()
    operations = {
        name: getattr(driver, name) for name in ("first_result", "first_reply", "open", "run", "calls", "close")
    }
    try:
        for line in sys.stdin:
            request = json.loads(line)
            try:
                answer = operations[request.pop("operation")](**request)
            except Exception as error:  # noqa: BLE001 - the other side decides what it means
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), flush=True)
    finally:
        driver.close()


if __name__ == "__main__":
    main()
