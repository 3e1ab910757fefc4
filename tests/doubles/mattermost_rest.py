"""The double's REST API: who calls, what goes wrong, and the routes as api4 has them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.doubles.mattermost_socket import shown
from tests.doubles.slack_wire import Fault

if TYPE_CHECKING:
    from tests.doubles.mattermost import MattermostDouble

Json = dict[str, Any]
Work = Callable[["Rest", str, tuple[str, ...], Json], Any]

_ROUTES: list[tuple[str, re.Pattern[str], str, Work]] = []
_SINCE_MOST = 1_000


class Refusal(Exception):
    """An AppError with this id."""

    def __init__(self, code: str, status: int) -> None:
        super().__init__(code)
        self.code, self.status = code, status

    def response(self) -> web.Response:
        told = {"id": self.code, "message": self.code, "detailed_error": "", "request_id": "r"}
        return answered(told | {"status_code": self.status}, self.status)


def answered(value: Any, status: int = 200) -> web.Response:
    """JSON as the server sends it: its client takes no other content type, not even a charset."""
    body = json.dumps(value).encode()
    return web.Response(body=body, status=status, headers={"Content-Type": "application/json"})


def route(method: str, path: str) -> Callable[[Work], Work]:
    """The work of a route; `{}` in its path stands for an id."""
    pattern = re.compile(path.replace("{}", "([^/]+)"))
    name = f"{method} {path}"

    def kept(work: Work) -> Work:
        _ROUTES.append((method, pattern, name, work))
        return work

    return kept


class Rest:
    def __init__(self, double: MattermostDouble) -> None:
        self.double = double

    async def handle(self, request: web.Request) -> web.StreamResponse:
        from tests.doubles.mattermost import Call

        try:
            name, ids, work = _found(request.method, request.match_info["route"])
            user = self._user(request)
            args = await self._args(request, user)
            self.double.calls.append(Call(name, args, user))
            queue = self.double.faults.get(name)
            fault = queue.pop(0) if queue else None
            if fault and fault.when == "before" and (early := _failed(request, fault)) is not None:
                return early
            if not user and name != "GET config/client":
                raise Refusal("api.context.session_expired.app_error", 401)
            given = tuple(user if one == "me" else one for one in ids)
            answer = work(self, user, given, args)
            if hasattr(answer, "__await__"):
                answer = await answer
        except Refusal as refusal:
            return refusal.response()
        if fault and fault.when == "after" and (late := _failed(request, fault)) is not None:
            return late
        if isinstance(answer, web.Response):
            return answer
        return answered(answer, 201 if name == "POST posts" else 200)

    def _user(self, request: web.Request) -> str:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        return self.double.tokens.get(token, "") if scheme.lower() == "bearer" else ""

    async def _args(self, request: web.Request, user: str) -> Json:
        args: Json = dict(request.query)
        if not request.can_read_body:
            return args
        if request.content_type != "multipart/form-data":
            told = json.loads(await request.text() or "{}")
            return args | (told if isinstance(told, dict) else {"": told})
        form = await request.post()
        for name, field in form.items():
            if isinstance(field, web.FileField):
                mime = field.content_type
                args["file"] = (field.filename, field.file.read(), mime)
            else:
                args[name] = field
        return args

    async def respond(self, request: web.Request) -> web.Response:
        from tests.doubles.mattermost import Call

        given = await request.json()
        self.double.calls.append(Call("POST hooks/commands", given, ""))
        try:
            self.double.respond(request.match_info["hook"], given)
        except Refusal as refusal:
            return refusal.response()
        return web.Response(text="ok")

    def post(self, user: str, post_id: str) -> Json:
        """A post that somebody may see."""
        post = self.double.posts.get(post_id)
        if post is None or post["delete_at"]:
            raise Refusal("app.post.get.app_error", 404)
        self.channel(user, post["channel_id"])
        return post

    def own(self, user: str, post_id: str) -> Json:
        post = self.post(user, post_id)
        if post["user_id"] != user:
            raise Refusal("api.context.permissions.app_error", 403)
        return post

    def channel(self, user: str, channel: str) -> Json:
        if not self.double.is_member(channel, user):
            raise Refusal("api.context.permissions.app_error", 403)
        return self.double.channels[channel]


def _found(method: str, path: str) -> tuple[str, tuple[str, ...], Work]:
    for its, pattern, name, work in _ROUTES:
        if its == method and (match := pattern.fullmatch(path)):
            return name, match.groups(), work
    raise Refusal("api.context.404.app_error", 404)


def _failed(request: web.Request, fault: Fault) -> web.StreamResponse | None:
    match fault.kind:
        case "429":
            headers = {"Retry-After": str(fault.retry_after_s), "X-RateLimit-Remaining": "0"}
            headers["X-RateLimit-Reset"] = str(fault.retry_after_s)
            return web.Response(text="limit exceeded\n", status=429, headers=headers)
        case "500":
            return web.Response(text="<html>oops</html>", status=502, content_type="text/html")
        case "cut":
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        case "garbled":
            return web.Response(text="{nonsense", content_type="application/json")
        case "error":
            return Refusal(fault.code, 400).response()
        case "hang":
            raise NotImplementedError
    return None


def _listed(posts: list[Json]) -> Json:
    """A PostList, the newest first."""
    posts = sorted(posts, key=lambda post: -post["create_at"])
    told = {post["id"]: {**shown(post), **_blank(post)} for post in posts}
    cursors = {"next_post_id": "", "prev_post_id": "", "first_inaccessible_post_time": 0}
    return {"order": [post["id"] for post in posts], "posts": told, **cursors}


def _blank(post: Json) -> Json:
    return {"message": ""} if post["delete_at"] else {}


# ── People and channels ─────────────────────────────────────────────────────────────────────


@route("GET", "config/client")
def _config(rest: Rest, user: str, ids: tuple[str, ...], args: Json) -> Any:
    return rest.double.config


@route("GET", "users/username/{}")
def _by_name(rest: Rest, user: str, ids: tuple[str, ...], args: Json) -> Any:
    for told in rest.double.users.values():
        if told["username"] == ids[0]:
            return told
    raise Refusal("app.user.missing_account.const", 404)


@route("GET", "users")
def _users(rest: Rest, user: str, ids: tuple[str, ...], args: Json) -> Any:
    rest.channel(user, args["in_channel"])
    people = rest.double.members[args["in_channel"]]
    return [rest.double.users[one] for one in people][: int(args.get("per_page", 60))]


@route("GET", "users/{}")
def _person(rest: Rest, user: str, ids: tuple[str, ...], args: Json) -> Any:
    if (told := rest.double.users.get(ids[0])) is None:
        raise Refusal("app.user.missing_account.const", 404)
    return told


@route("GET", "users/{}/channels")
def _channels(rest: Rest, user: str, ids: tuple[str, ...], args: Json) -> Any:
    found = [one for id_, one in rest.double.channels.items() if rest.double.is_member(id_, user)]
    if not found:
        raise Refusal("app.channel.get_channels.not_found.app_error", 404)
    return found


@route("GET", "users/{}/teams/{}/channels")
def _of_team(rest: Rest, user: str, ids: tuple[str, ...], args: Json) -> Any:
    return _channels(rest, user, ids, args)


@route("GET", "channels/{}")
def _channel(rest: Rest, user: str, ids: tuple[str, ...], args: Json) -> Any:
    return rest.channel(user, ids[0])


@route("POST", "users/{}/typing")
def _typing(rest: Rest, user: str, ids: tuple[str, ...], args: Json) -> Any:
    rest.channel(user, args["channel_id"])
    rest.double.typed.append((user, args["channel_id"]))
    return {"status": "OK"}


# ── Posts ───────────────────────────────────────────────────────────────────────────────────


@route("GET", "channels/{}/posts")
def _posts(rest: Rest, user: str, ids: tuple[str, ...], args: Json) -> Any:
    """since goes before pages; it tells what is deleted too, and earlier versions."""
    rest.channel(user, ids[0])
    rows = [*rest.double.posts.values(), *rest.double.history]
    here = [post for post in rows if post["channel_id"] == ids[0]]
    if since := int(args.get("since", 0)):
        return _listed([post for post in here if post["update_at"] > since][:_SINCE_MOST])
    standing = [post for post in here if not post["delete_at"]]
    most = min(int(args.get("per_page", 60)), 200)
    start = int(args.get("page", 0)) * most
    return _listed(sorted(standing, key=lambda post: -post["create_at"])[start : start + most])


@route("POST", "posts")
def _create(rest: Rest, user: str, ids: tuple[str, ...], args: Json) -> Any:
    return shown(rest.double.create(user, args))


@route("GET", "posts/{}")
def _post(rest: Rest, user: str, ids: tuple[str, ...], args: Json) -> Any:
    return shown(rest.post(user, ids[0]))


@route("PUT", "posts/{}/patch")
def _patch(rest: Rest, user: str, ids: tuple[str, ...], args: Json) -> Any:
    rest.own(user, ids[0])
    return shown(rest.double.patch(ids[0], args))


@route("DELETE", "posts/{}")
def _delete(rest: Rest, user: str, ids: tuple[str, ...], args: Json) -> Any:
    rest.own(user, ids[0])
    rest.double.remove(ids[0])
    return {"status": "OK"}


@route("GET", "posts/{}/thread")
def _thread(rest: Rest, user: str, ids: tuple[str, ...], args: Json) -> Any:
    """The root, and the replies on one side of a post."""
    root = rest.post(user, ids[0])
    replies = [p for p in rest.double.posts.values() if p["root_id"] == root["id"]]
    replies = [p for p in replies if not p["delete_at"]]
    most = int(args.get("perPage", 0)) or len(replies)
    if at := int(args.get("fromCreateAt", 0)):
        up = args.get("direction") == "up"
        replies = [p for p in replies if (p["create_at"] < at if up else p["create_at"] > at)]
        replies = replies[-most:] if up else replies[:most]
    return {**_listed([root, *replies[:most]]), "has_next": False}


@route("POST", "posts/{}/actions/{}")
async def _act(rest: Rest, user: str, ids: tuple[str, ...], args: Json) -> Any:
    attachments = rest.post(user, ids[0])["props"].get("attachments") or ()
    for action in (action for one in attachments for action in one.get("actions", ())):
        if action["id"] == ids[1]:
            if await rest.double.act(ids[0], action, user) != 200:
                raise Refusal("api.post.do_action.action_integration.app_error", 400)
            return {"status": "OK", "trigger_id": "dHJpZ2dlcg=="}
    raise Refusal("api.post.do_action.action_id.app_error", 404)


@route("POST", "reactions")
def _react(rest: Rest, user: str, ids: tuple[str, ...], args: Json) -> Any:
    if args["user_id"] != user:
        raise Refusal("api.reaction.save_reaction.user_id.app_error", 403)
    rest.post(user, args["post_id"])
    return rest.double.react(args["post_id"], args["emoji_name"], user)


@route("DELETE", "users/{}/posts/{}/reactions/{}")
def _unreact(rest: Rest, user: str, ids: tuple[str, ...], args: Json) -> Any:
    rest.post(user, ids[1])
    rest.double.react(ids[1], ids[2], user, back=True)
    return {"status": "OK"}


# ── Files ───────────────────────────────────────────────────────────────────────────────────


@route("POST", "files")
def _upload(rest: Rest, user: str, ids: tuple[str, ...], args: Json) -> Any:
    rest.channel(user, args["channel_id"])
    name, data, mime = args["file"]
    if len(data) > int(rest.double.config["MaxFileSize"]):
        raise Refusal("api.file.upload_file.too_large.app_error", 413)
    id_ = rest.double.file(name, data, mime, user)
    told = {"file_infos": [rest.double.files[id_].info], "client_ids": []}
    return answered(told, 201)


@route("GET", "files/{}")
def _file(rest: Rest, user: str, ids: tuple[str, ...], args: Json) -> Any:
    if (file := rest.double.files.get(ids[0])) is None:
        raise Refusal("app.file_info.get.app_error", 404)
    rest.channel(user, file.info["channel_id"])
    return web.Response(body=file.data, content_type=file.info["mime_type"])
