"""The command line's way to the Moot that runs: its API, with the owner's secret."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from contract.errors import ConfigError, MootError, Rejected
from contract.values import dataclass
from gateway.core.lock import address_of, holder, reached
from gateway.core.private_folders import OWNER_SECRET
from gateway.settings.config import Config
from gateway.web.signin.secret import read_secret

WAIT_S = 30.0


@dataclass(frozen=True, slots=True)
class RunningMoot:
    """The Moot that runs. Nothing else is to be done meanwhile, so a call may hold the loop."""

    url: str
    token: str | None

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        wait_s: float = WAIT_S,
    ) -> dict[str, Any]:
        """Past any proxy. Raises LookupError for what isn't there, else MootError."""
        status, told = self._call(method, path, body, wait_s)
        fault = told.get("error", {})
        if status == 404:
            raise LookupError(fault.get("message", path))
        if status == 401:
            raise ConfigError(
                f"Moot wants a token: run this as the account that can read {OWNER_SECRET} in its "
                "data, or set MOOT_TOKEN as Moot has it"
            )
        if status >= 400:
            field, message = fault.get("field"), str(fault.get("message"))
            if field is None:
                raise MootError(message)
            raise Rejected(str(field), message.removeprefix(f"{field}: "))
        return told

    def health(self) -> dict[str, Any]:
        """`ok`, and for an owner `detail`: a word for each part. Raises MootError."""
        return self._call("GET", "/healthz", None, WAIT_S)[1]

    def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None, wait_s: float
    ) -> tuple[int, dict[str, Any]]:
        at = urlsplit(reached(self.url))
        connection = http.client.HTTPConnection(at.hostname or "", at.port, timeout=wait_s)
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        try:
            given = None if body is None else json.dumps(body)
            connection.request(method, path, given, headers)
            response = connection.getresponse()
            told: dict[str, Any] = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = f"Moot runs, but its page at {self.url} can't be reached: {error}"
            raise MootError(reason) from None
        finally:
            connection.close()
        return response.status, told


def running(config: Config, environment: Mapping[str, str]) -> RunningMoot | None:
    """The Moot of this data directory; None: none runs. Raises ConfigError while it starts."""
    folder = config.gateway.data_dir
    if holder(folder) is None:
        return None
    url = address_of(folder)
    if url is None:
        raise ConfigError("Moot doesn't serve its page yet; try again in a moment")
    return client_of(config, url, environment)


def client_of(config: Config, url: str, environment: Mapping[str, str]) -> RunningMoot:
    """Its API at an address."""
    secret = read_secret(config.gateway.data_dir)
    return RunningMoot(url, secret or environment.get("MOOT_TOKEN") or None)
