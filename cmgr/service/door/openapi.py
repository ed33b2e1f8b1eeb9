"""The routes as an OpenAPI document. Pure.

An answer's schema is made from the type that its function says that it returns (`cmgr.view.shapes`).
"""

from collections.abc import Sequence
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from cmgr import __version__
from cmgr.sentences.sentence import Message
from cmgr.service.door.orders.declared import Wish
from cmgr.service.door.routes import JSON, SVG, TEXT, Answering, Arg, Route, Unwell
from cmgr.words import Json

if TYPE_CHECKING:
    from cmgr.view.shapes import Form

_ERROR: Json = {
    "type": "object",
    "required": ["error", "hint", "mistakes"],
    "properties": {
        "error": {"type": "string", "description": "What cannot be done, and why."},
        "hint": {"type": "string", "description": "What to do about it; it may be empty."},
        "mistakes": {"type": "array", "items": {"type": "string"}, "description": "Each thing to fix."},
        "messages": {
            "type": "object",
            "additionalProperties": {"$ref": "#/components/schemas/Message"},
            "description": "`id` and `args` of `error` and `hint`, for a program, or another language.",
        },
    },
}
_REFUSALS = {
    "400": "What was asked cannot be understood.",
    "404": "There is nothing of that name.",
    "409": "Not now, as things are.",
    "503": "The service cannot tell now, or is not well.",
    "504": "Whether it was done is not known; it may be done yet.",
}

_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}
SCHEMAS = "#/components/schemas/"


def document(routes: Sequence[Route]) -> Json:
    """Return the description of these routes."""
    paths: dict[str, Json] = {}
    named: dict[str, Json] = {"Error": _ERROR}
    schema(Message, named)
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, named)
    return {
        "openapi": "3.1.0",
        "info": {"title": "cmgr", "version": __version__, "description": "See docs/api.md and docs/json.md."},
        "servers": [{"url": "http://localhost", "description": "The unix socket /run/cmgr/cmgr.sock."}],
        "paths": paths,
        "components": {"schemas": named},
    }


def _operation(route: Route, named: dict[str, Json]) -> Json:
    args = route.args or ()
    found: Json = {"operationId": route.do, "summary": route.says, "responses": _responses(route, named)}
    if route.method != "POST":
        found["parameters"] = [_parameter(route, arg) for arg in args]
    elif args:
        required = [arg.name for arg in args if arg.required]
        body = {"type": "object", "additionalProperties": False, "required": required}
        properties = {arg.name: {**_type(arg), "description": arg.says} for arg in args}
        content = {JSON: {"schema": {**body, "properties": properties}}}
        found["requestBody"] = {"required": bool(required), "content": content}
    return found


def _parameter(route: Route, arg: Arg) -> Json:
    where = "path" if f"{{{arg.name}}}" in route.path else "query"
    return {"name": arg.name, "in": where, "required": arg.required, "description": arg.says, "schema": _type(arg)}


def _type(arg: Arg) -> Json:
    # A member that can be left out can as well be null.
    return {"type": arg.kind if arg.required else [arg.kind, "null"]}


def _responses(route: Route, named: dict[str, Json]) -> Json:
    shapes = _shapes(route.answer)
    refused: list[Json] = [{"$ref": f"{SCHEMAS}Error"}]
    usual: Json = {"type": "string" if route.kind in (TEXT, SVG) else "object"}
    told = [schema(shape, named) for shape in shapes if is_typeddict(shape)] or [usual]
    found = {"200": _response(route.says, route.kind, told)}
    if route.tag is not None:
        found["304"] = {"description": "It is as the peer has it (If-None-Match)."}
    found |= {code: _response(says, JSON, refused) for code, says in _REFUSALS.items()}
    return {**found, "503": _response(_REFUSALS["503"], JSON, [*refused, *told])} if Unwell in shapes else {**found}


def _response(says: str, kind: str, schemas: Sequence[Json]) -> Json:
    return {"description": says, "content": {kind: {"schema": schemas[0] if len(schemas) == 1 else {"anyOf": schemas}}}}


def _shapes(answer: Answering) -> tuple[Any, ...]:
    """Return the types that an answer may be of."""
    # Nothing else needs them while the service runs, and they take their time to load.
    from cmgr.view import group_shapes, shapes, slot_shapes
    from cmgr.view.one import one_shapes

    hint = get_type_hints(
        answer,
        localns={"shapes": shapes, "slot_shapes": slot_shapes, "group_shapes": group_shapes, "one_shapes": one_shapes},
        include_extras=True,
    ).get("return")
    if get_origin(hint) is get_origin(Wish):
        hint = get_args(hint)[-1] | shapes.Preview
    return get_args(hint) or (hint,)


def schema(hint: Any, named: dict[str, Json]) -> Json:
    """Return a type of `cmgr.view.shapes` as a JSON schema; `named` gets the objects that it is made of."""
    if is_typeddict(hint):
        if hint.__name__ not in named:
            named[hint.__name__] = _object(hint, named)
        return {"$ref": f"{SCHEMAS}{hint.__name__}"}
    origin, args = get_origin(hint), get_args(hint)
    if origin is NotRequired:
        return schema(args[0], named)
    if origin is Annotated:
        found = schema(args[0], named)
        for more in args[1:]:
            found |= {"description": more} if isinstance(more, str) else _form(more)
        return found
    if origin is Literal:
        return {"type": "string", "enum": list(args)}
    if origin in (Union, UnionType):
        return {"anyOf": [schema(each, named) for each in args]}
    if origin is list:
        return {"type": "array", "items": schema(args[0], named)}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema(args[1], named)}
    return {} if hint is object else {"type": _TYPES[hint]}


def _object(hint: Any, named: dict[str, Json]) -> Json:
    keys = get_type_hints(hint, include_extras=True)
    required = [key for key in keys if key in hint.__required_keys__]
    return {"type": "object", "required": required, "properties": {key: schema(keys[key], named) for key in keys}}


def _form(form: "Form") -> Json:
    return {"enum": list(form.words)} if form.words else {"format": form.format}
