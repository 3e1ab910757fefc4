"""Moot from start to end: everything is opened in order, and closed in reverse."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from adapters.cli.hooks import HookListener
from adapters.pty.open_files import OPEN_FILES
from adapters.session.version import keep_versions
from composer.headings import HEADINGS
from contract.errors import ConfigError
from contract.language import speak
from gateway.access.access import Access
from gateway.app.app import App, Confirms, Started
from gateway.app.context import Context, Instruments
from gateway.app.ending import Ends, tasks_of_block
from gateway.app.file_store import open_files
from gateway.app.platforms import make_bots, make_table_follower, states_of
from gateway.app.service_manager import Notify, nobody
from gateway.app.sessions import make_persona_follower
from gateway.app.standby import MakeReading, StoppedWaiting, leading
from gateway.core.lock import hold
from gateway.core.private_folders import keep_private
from gateway.core.redaction import Redactor
from gateway.observability.metrics import Metrics
from gateway.observability.telemetry import open_telemetry
from gateway.remembering.embedder import InstalledModel
from gateway.remembering.indexes import index_settings, open_configured, open_sources
from gateway.remembering.memories import Backends
from gateway.remembering.models import open_model
from gateway.sessions.machine_erasures import MachineErasures
from gateway.sessions.pool import SessionPool
from gateway.sessions.programs import Programs, agent_names
from gateway.sessions.sandbox import Sandboxing
from gateway.settings.config import Config
from gateway.settings.logs import WEBHOOK
from gateway.settings.oidc import SECRET as OIDC_SECRET
from gateway.settings.personas.personas import Personas
from gateway.settings.personas.shipped import AGREED, RECORD, bring_shipped
from gateway.settings.personas.workspaces import configured_workspaces
from gateway.settings.tables import GatewayTable
from gateway.turns.voice import open_transcriber
from gateway.web.listening.configured import connection_limits, page_auth
from gateway.web.listening.listener import log_shortage, serving_hooks
from gateway.web.signin.own_token import PageSecrets, check_own
from llm.client import ApiConnections
from store.database import Store
from store.leading import Lead, LeadLost

if TYPE_CHECKING:
    from gateway.web.settings.values import ChangeChecks

log = structlog.stdlib.get_logger("moot.app")


# The loop stands still while all that lives is looked through, 170 ms with a hundred terminals. The
# third number makes that a hundred times rarer than by default; younger garbage goes as before.
COLLECTED_EVERY = (700, 10, 1_000)


async def run(
    config: Config,
    environment: Mapping[str, str],
    *,
    started: Started,
    stop: asyncio.Event,
    redactor: Redactor | None = None,
    at_once: asyncio.Event | None = None,
    notify: Notify = nobody,
    confirms: Confirms | None = None,
    checks: ChangeChecks | None = None,
) -> None:
    """Run Moot until `stop` is set.

    Turns that run then may go on for `[gateway] shutdown_s`, or until `at_once` is set; what is not
    over is taken up again by the next start. notify: see gateway/app/service_manager.py.
    redactor: knows the secrets of both; without it none is known. confirms: see `Confirms`.
    checks: of what the page writes into moot.toml; without it the page can't.
    """
    speak(config.gateway.language)
    ends = Ends(stop, at_once or asyncio.Event())
    keep_private(config.gateway.data_dir)
    with hold(config.gateway.data_dir):
        serve = partial(App.serve, started=started, ends=ends, notify=notify, confirms=confirms)
        known = dict(environment)  # a key that is given on the page comes into it
        wait = partial(leading, stop=stop, notify=notify)
        with suppress(StoppedWaiting):
            await _run(
                _with_webhook(config, known), known, serve, redactor or Redactor(), checks, wait
            )


async def _run(
    config: Config,
    environment: MutableMapping[str, str],
    serve: Callable[[App], Awaitable[None]],
    redactor: Redactor,
    checks: ChangeChecks | None,
    wait: Callable[[Config, Store, MakeReading], AbstractAsyncContextManager[Lead | None]],
) -> None:
    _bring_personas(config.gateway)
    personas = Personas(
        config.gateway.personas_folder,
        tuple(HEADINGS),
        agent_names(config.agents),
        config.workers.pools if config.workers is not None else (),
    )
    access = Access(config.access)
    states = states_of(config)
    bots = make_bots(config, environment, personas, access, redactor.learn_one, states)
    secrets = _page_secrets(config, environment)

    def reading(group: asyncio.TaskGroup, only_read: Store) -> App:
        """The parts of a gateway that stands by: nothing of them is kept when it leads."""
        group.create_task(erasures.keep_up(), name="erasures")
        own, instruments = Access(config.access), Instruments(redactor=redactor)
        return App(
            Context(
                config,
                group,
                only_read,
                personas,
                bots,
                own,
                instruments,
                files=files,
            ),
            programs=Programs(config.agents, environment, HookListener(), connections),
            page_secrets=secrets,
            environment=environment,
            checks=checks,
        )

    async with (
        open_model(config, environment) as model,
        aclosing(ApiConnections()) as connections,
        Store.open(config.store_url, patience_s=config.store.patience_s) as store,
        open_files(config, environment, (erasures := _erasures(config, store, personas))) as files,
        wait(config, store, reading) as lead,
        open_configured(config) as index,
        open_sources(config, environment) as sources,
        open_telemetry(config.telemetry, environment, redactor) as telemetry,
        HookListener.open(serving_hooks(connection_limits(config))) as hooks,
        open_transcriber(config.transcribe, environment) as transcriber,
    ):
        redactor.learn_one(hooks.secret)
        tables = make_table_follower(config, store, environment, redactor, personas)
        if tables is not None:
            config = config.model_copy(update=dict(await tables.follow()))
            access.take(config.access)
            bots = make_bots(config, environment, personas, access, redactor.learn_one, states)
        if (follower := make_persona_follower(config, personas, store)) is not None:
            await follower.follow()
        await erasures.carry_out()  # what came while it stood by
        sandboxing = await _sandboxing(config, environment, personas)
        _prepare(config.gateway.data_dir)
        states.open(store)
        instruments = Instruments(Metrics(), redactor, telemetry, transcriber)

        def make_app(group: asyncio.TaskGroup) -> App:
            return App(
                Context(
                    config,
                    group,
                    store,
                    personas,
                    bots,
                    access,
                    instruments,
                    files,
                ),
                programs=Programs(config.agents, environment, hooks, connections),
                backends=Backends(index, model, sources, InstalledModel(config, environment)),
                page_secrets=secrets,
                hooks=hooks,
                environment=environment,
                sandboxing=sandboxing,
                checks=checks,
            )

        await _serve(make_app, serve, lead)


def _erasures(config: Config, store: Store, personas: Personas) -> MachineErasures:
    def kept() -> list[Path]:
        return configured_workspaces(config, personas.good.values())

    return MachineErasures(store, config.gateway.data_dir, kept, index_settings(config).file)


def _bring_personas(gateway: GatewayTable) -> None:
    folder, first = gateway.personas_dir, not (gateway.personas_dir / RECORD).exists()
    try:
        names = bring_shipped(folder)
    except ConfigError as error:
        log.warning("personas.not_copied", reason=error.say)
        return
    if first and names:  # a new folder has nothing of what was agreed on
        (gateway.data_dir / AGREED).unlink(missing_ok=True)
    if names:
        log.info("personas.copied", folder=str(folder), names=names)


def _with_webhook(config: Config, environment: Mapping[str, str]) -> Config:
    """The configuration with the address of alerts that the environment has."""
    address = environment.get(WEBHOOK)
    if not address:
        return config
    alerts = config.alerts.model_copy(update={"webhook": address})
    return config.model_copy(update={"alerts": alerts})


def _prepare(data_dir: Path) -> None:
    """The process and its folder, once all is imported and the libraries have made their files."""
    keep_versions(data_dir / "versions.json")
    keep_private(data_dir)
    OPEN_FILES.raise_limit()
    log_shortage(asyncio.get_running_loop())
    gc.freeze()  # what is imported stays: to look through it for garbage takes 80 ms each time
    gc.set_threshold(*COLLECTED_EVERY)
    gc.enable()


async def _sandboxing(
    config: Config, environment: Mapping[str, str], personas: Personas
) -> Sandboxing:
    made = Sandboxing(config, environment.get("PATH", ""))
    await made.tell(personas.good.values())
    return made


def _page_secrets(config: Config, environment: Mapping[str, str]) -> PageSecrets:
    own = check_own(environment, beyond=page_auth(config).is_beyond)
    return PageSecrets(own, environment.get(OIDC_SECRET) or None)


async def _until_lost(lead: Lead, app: App) -> None:
    """Raises LeadLost, when what works on other machines is left to the next gateway."""
    try:
        await lead.until_lost()
    finally:
        if app.workers is not None:
            app.workers.fleet.leaves = True


async def _serve(
    make_app: Callable[[asyncio.TaskGroup], App],
    serve: Callable[[App], Awaitable[None]],
    lead: Lead | None,
) -> None:
    """Serve until the end. All tasks end then; the sessions' programs last. Raises LeadLost."""
    sessions: SessionPool | None = None
    lost: LeadLost | None = None
    try:
        async with tasks_of_block() as group:
            app = make_app(group)
            if lead is not None:
                group.create_task(_until_lost(lead, app), name="lead")
            sessions = app.sessions
            await serve(app)
    except* LeadLost:
        lost = LeadLost()
    finally:
        if sessions is not None:
            await sessions.close()
    if lost is not None:
        raise lost
