"""The routes below /api/personas: files, their history, what an agent gets, a dry run."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any, Literal, get_args

from aiohttp import web
from aiohttp.typedefs import Handler
from pydantic import BaseModel, ConfigDict, Field

from contract.chat import Room, Speaker
from contract.errors import Busy, ConfigError, Rejected
from contract.values import dataclass
from gateway.personas.choices import AgentChoices
from gateway.personas.dry_run import DryRuns, Preview
from gateway.personas.service import PersonaFile, PersonaService
from gateway.settings.personas.check import Checked
from gateway.settings.personas.faults import Conflict, Unknown, Unsound
from gateway.settings.personas.personas import FrontMatter, Persona, front_matter_schema
from gateway.settings.personas.writing import values_of, with_value
from gateway.web.body import answer, parse, read_object
from gateway.web.plain_json import error
from gateway.web.rendering import to_json
from gateway.web.signin.caller import acting, caller_of
from gateway.web.signin.rooms import RoomGuard
from gateway.web.signin.speaker import Chooser

HERE = Room("web:personas", "personas")  # where the audit log says that it was done
MOST_SAMPLE = 20_000  # characters
FieldKey = Literal["agent", "model", "workspace", "sandbox", "description"]
"""Keys of the front matter that have fields on the page."""


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class ChangedKey(_Body):
    """A new value of a key. value: "": the file is to be without it."""

    key: FieldKey
    value: str = Field(max_length=4_000)


class CheckBody(_Body):
    """A text to look at. name: of the persona that it would be. change: what is changed in it
    first."""

    name: str = Field(max_length=100)
    text: str
    change: ChangedKey | None = None


class SaveBody(_Body):
    """An edit. base: as the file was told to have when it began; "" for a new file."""

    text: str
    base: str
    by: str | Chooser


class CreateBody(_Body):
    """A new persona."""

    name: str
    text: str
    by: str | Chooser


class DeleteBody(_Body):
    """The form of the file that is to go."""

    base: str
    by: str | Chooser


class RollBackBody(_Body):
    """number: the version to go back to; null: the one before the newest."""

    number: int | None = Field(None, ge=1, le=10**9)
    by: str | Chooser


class SampleBody(_Body):
    """A message that somebody might write. text: null: the persona's file as it is. room_id: "":
    a direct message."""

    name: str
    text: str | None = None
    room_id: str = ""
    message: str = Field(max_length=MOST_SAMPLE)
    by: str | Chooser


@dataclass(frozen=True, slots=True)
class PersonaApi:
    """The routes. They are for owners: see web/auth.py."""

    personas: PersonaService
    dry_runs: DryRuns
    rooms: RoomGuard
    choices: AgentChoices

    def routes(self) -> list[web.RouteDef]:
        """Every route of it."""
        at = "/api/personas/files"
        one = f"{at}/{{name}}"
        return [
            web.get("/api/personas/schema", self.schema),
            web.post("/api/personas/check", _answered(self.check)),
            web.post("/api/personas/preview", _answered(self.preview)),
            web.post("/api/personas/dry-run", _answered(self.dry_run)),
            web.get(at, _answered(self.files)),
            web.post(at, _answered(self.create)),
            web.get(one, _answered(self.read)),
            web.put(one, _answered(self.save)),
            web.delete(one, _answered(self.delete)),
            web.get(f"{one}/history", _answered(self.history)),
            web.get(f"{one}/versions/{{number}}", _answered(self.version)),
            web.get(f"{one}/diff", _answered(self.diff)),
            web.post(f"{one}/rollback", _answered(self.roll_back)),
        ]

    # ── Looking ─────────────────────────────────────────────────────────────────────────

    async def schema(self, request: web.Request) -> web.Response:
        return answer(front_matter_schema())

    async def files(self, request: web.Request) -> web.Response:
        service = self.personas
        sheets = await service.sheets()
        folder = {
            "path": str(service.folder),
            "writable": service.writable,
            "moves_to": str(service.moves_to) if service.moves_to else None,
        }
        cards = [_card(sheet) for sheet in sheets]
        return answer({"folder": folder, "personas": cards, "agents": self.choices.all()})

    async def read(self, request: web.Request) -> web.Response:
        return answer(_sheet(await self.personas.sheet(_name(request))))

    async def check(self, request: web.Request) -> web.Response:
        body = parse(CheckBody, await read_object(request))
        text, changed = body.text, body.change
        if changed is not None:
            text = with_value(text, changed.key, changed.value)
        told = _checked(self.personas.check(body.name, text)) | {"values": _values(text)}
        return answer(told if changed is None else told | {"text": text})

    async def history(self, request: web.Request) -> web.Response:
        name = _name(request)
        await self.personas.sheet(name)
        versions = await self.personas.versions.of(name)
        return answer({"name": name, "versions": versions})

    async def version(self, request: web.Request) -> web.Response:
        number = _number(request.match_info["number"], "number")
        found = await self.personas.version(_name(request), number)
        return answer({"name": found.name, "text": found.text} | to_json(found))

    async def diff(self, request: web.Request) -> web.Response:
        older = _number(request.query.get("from", ""), "from")
        given = request.query.get("to")
        newer = _number(given, "to") if given else None
        text = await self.personas.diff(_name(request), older, newer)
        return answer({"from": older, "to": newer, "diff": text})

    # ── Editing ─────────────────────────────────────────────────────────────────────────

    async def create(self, request: web.Request) -> web.Response:
        body = parse(CreateBody, await read_object(request))
        by = acting(request, body.by)
        await self.personas.save(body.name, body.text, "", by, room=HERE)
        return answer(_sheet(await self.personas.sheet(body.name)), 201)

    async def save(self, request: web.Request) -> web.Response:
        body = parse(SaveBody, await read_object(request))
        name = _name(request)
        await self.personas.save(name, body.text, body.base, acting(request, body.by), room=HERE)
        return answer(_sheet(await self.personas.sheet(name)))

    async def delete(self, request: web.Request) -> web.Response:
        body = parse(DeleteBody, await read_object(request))
        name = _name(request)
        await self.personas.delete(name, body.base, acting(request, body.by), room=HERE)
        return answer(_sheet(await self.personas.sheet(name)))

    async def roll_back(self, request: web.Request) -> web.Response:
        body = parse(RollBackBody, await read_object(request))
        name = _name(request)
        await self.personas.roll_back(name, body.number, acting(request, body.by), room=HERE)
        return answer(_sheet(await self.personas.sheet(name)))

    # ── Trying ──────────────────────────────────────────────────────────────────────────

    async def preview(self, request: web.Request) -> web.Response:
        body = parse(SampleBody, await read_object(request))
        persona = await self._persona(body)
        by = await self._by(request, body)
        return answer(
            _preview(await self.dry_runs.preview(persona, body.room_id, by, body.message))
        )

    async def dry_run(self, request: web.Request) -> web.Response:
        body = parse(SampleBody, await read_object(request))
        persona = await self._persona(body)
        by = await self._by(request, body)
        done = await self.dry_runs.dry_run(persona, body.room_id, by, body.message)
        view = {
            "answer": done.answer,
            "asked": list(done.asked),
            "tools": list(done.tools),
            "seconds": round(done.seconds, 3),
            "trouble": done.trouble,
        }
        return answer(_preview(done.preview) | view)

    async def _by(self, request: web.Request, body: SampleBody) -> Speaker:
        """Who asks. What is shown holds what was said in the room: nobody looks so into somebody
        else's direct message. Raises RequestRefused."""
        caller, by = caller_of(request), acting(request, body.by)
        if body.room_id or caller.is_person:
            await self.rooms.check(caller, body.room_id)
        else:
            await self.rooms.check_program(f"web:dm-{by.id.partition(':')[2]}-{body.name}")
        return by

    async def _persona(self, body: SampleBody) -> Persona:
        text = body.text
        if text is None:
            text = (await self.personas.sheet(body.name)).text
        return self.personas.persona_of(body.name, text)


def _answered(handler: Handler) -> Handler:
    """Turn what can't be done into the status that says why, with what helps to fix it."""

    async def answered(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except Unknown as fault:
            return error(404, fault.phrase)
        except ConfigError as fault:
            return error(400, fault.phrase)
        except Unsound as fault:
            told = {"field": "text", "message": fault.say}
            return answer({"error": told, "findings": fault.findings}, 422)
        except Conflict as fault:
            told = {"field": "base", "message": fault.say}
            theirs = {"text": fault.theirs, "base": fault.base, "diff": fault.diff}
            return answer({"error": told, **theirs}, 409)
        except Busy as fault:
            return error(409, fault.phrase)

    return answered


def _name(request: web.Request) -> str:
    return request.match_info["name"]


def _number(given: str, field: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", given):
        raise Rejected(field, "must be the number of a version")
    return int(given)


def _checked(checked: Checked[FrontMatter]) -> dict[str, Any]:
    return {"usable": checked.front is not None, "findings": checked.findings}


def _values(text: str) -> dict[str, str | None]:
    return values_of(text, get_args(FieldKey))


def _card(sheet: PersonaFile) -> dict[str, Any]:
    front = sheet.checked.front
    return {
        "name": sheet.name,
        "state": sheet.state,
        "agent": front.agent if front else None,
        "description": front.description if front else "",
        "version": sheet.version,
        "errors": len(sheet.checked.errors),
        "warnings": len(sheet.checked.findings) - len(sheet.checked.errors),
    }


def _sheet(sheet: PersonaFile) -> dict[str, Any]:
    told = {"text": sheet.text, "base": sheet.base, "findings": sheet.checked.findings}
    return _card(sheet) | told | {"values": _values(sheet.text)}


def _preview(preview: Preview) -> dict[str, Any]:
    header = preview.header
    return {
        "agent": preview.program.title,
        "available": preview.program.available,
        "hint": "" if preview.program.available else str(preview.program.hint),
        "system": preview.system,
        "header": header.text,
        "sections": [{"name": s.name, "text": s.text, "source": s.source} for s in header.sections],
        "trims": [asdict(trim) for trim in header.trims],
        "missing": list(preview.missing),
    }
