"""What the service can do, generated from the declarations: ``/v1/methods`` and the OpenAPI description."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from .. import __version__, classic, net
from ..options import YES_OR_NO, Method, Option
from .limits import Limits
from .refusal import CODES
from .work import BINARIZE, MEDIA, SHAPES

_TYPES = {int: "integer", float: "number", str: "string", bool: "boolean"}
_MEANING = {400: "A field, a parameter or its value is not understood", 401: "The token is missing or wrong",
            408: "The upload was too slow", 413: "Too many bytes, pixels or pages", 415: "Not a kind that is read",
            422: "The file is damaged", 503: "The queue is full; Retry-After says when to try again",
            504: "The work took too long"}  # fmt: skip

_HEADERS = {
    "Sauvolanet-Found": "What was found on the page, as a JSON object; only where the answer is one page",
    "Sauvolanet-Look": "The numbers of the pages that a person should look at, with commas; without it there are none",
}


def option_json(option: Option) -> dict[str, Any]:
    """A declaration for the page's controls."""
    return {**asdict(option), "type": _TYPES[option.type]}


def methods_json(models: dict[str, str], limits: Limits) -> dict[str, Any]:
    """Models, methods and options with their declarations, the default first."""
    known = [net.load(place) for place in models.values()]
    return {
        "version": __version__,
        "default": next(iter(models)),
        "models": [{"name": m.name, "windows": m.architecture.windows, "parameters": m.about["parameters"],
                    "licence": m.about["licence"], "copyright": m.about["copyright"],
                    "training": m.about["training"]["partition"]} for m in known],
        "methods": [{"name": m.name, "title": m.title, "doi": m.doi, "surface": m.surface,
                     "available": classic.available(m), "extra": m.extra, "presets": m.presets,
                     "options": [option_json(o) for o in m.all_options]} for m in classic.METHODS.values()],
        "options": [option_json(o) for o in BINARIZE],
        "limits": asdict(limits) | {"workers": limits.at_once},
    }  # fmt: skip


def _property(option: Option) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _TYPES[option.type], "description": f"{option.help} Takes {option.expected()}."}
    if option.type is bool:  # a form holds text
        schema |= {"type": "string", "enum": list(YES_OR_NO), "default": "yes" if option.default else "no"}
        return schema
    for key, value in (("default", option.default), ("minimum", option.low), ("maximum", option.high)):
        if value is not None:
            schema[key] = value
    if option.choices:
        schema["enum"] = list(option.choices)
    return schema


def _form(options: tuple[Option, ...], models: dict[str, str]) -> dict[str, Any]:
    """A form is the file, the options, and either a model or one of the methods with its own options."""
    shared = {"file": {"type": "string", "format": "binary", "description": "An image, TIFF or PDF."},
              **{o.name: _property(o) for o in options}}  # fmt: skip

    def form(title: str, required: list[str], own: dict[str, Any]) -> dict[str, Any]:
        return {"title": title, "type": "object", "required": ["file", *required], "properties": {**shared, **own},
                "additionalProperties": False}  # fmt: skip

    def method(m: Method) -> dict[str, Any]:
        return form(m.title, ["method"], {"method": {"const": m.name}, **{o.name: _property(o) for o in m.all_options}})

    model = {"type": "string", "enum": list(models), "default": next(iter(models)), "description": "A trained model."}
    usable = (m for m in classic.METHODS.values() if classic.available(m))
    return {"type": "object", "required": ["file"], "properties": shared,
            "anyOf": [form("A model", [], {"model": model}), *map(method, usable)]}  # fmt: skip


def openapi(models: dict[str, str], token: bool) -> dict[str, Any]:
    """The OpenAPI 3.1 description."""
    error = {"type": "object", "required": ["error"], "properties": {"error": {
        "type": "object", "required": ["code", "message"],
        "properties": {"code": {"enum": sorted(CODES.values())}, "message": {"type": "string"}}}}}  # fmt: skip
    refused: dict[str, Any] = {
        str(status): {
            "description": meaning,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
        for status, meaning in _MEANING.items()
    }
    refused["503"]["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}
    job = {"name": "job", "in": "query", "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{8,64}$"},
           "description": "A name of your choice under which /v1/progress tells how far the request is."}  # fmt: skip

    def post(
        summary: str, options: tuple[Option, ...], media: list[str], headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        binary = {"schema": {"type": "string", "format": "binary"}}
        answer: dict[str, Any] = {"description": "The result", "content": dict.fromkeys(media, binary)}
        if headers:
            answer["headers"] = {
                name: {"description": text, "schema": {"type": "string"}} for name, text in headers.items()
            }
        form = {"required": True, "content": {"multipart/form-data": {"schema": _form(options, models)}}}
        return {
            "post": {
                "summary": summary,
                "parameters": [job],
                "requestBody": form,
                "responses": {"200": answer, **refused},
            }
        }

    def get(summary: str, *parameters: dict[str, Any]) -> dict[str, Any]:
        answer = {"200": {"description": summary, "content": {"application/json": {"schema": {"type": "object"}}}},
                  "400": refused["400"]}  # fmt: skip
        return {"get": {"summary": summary, "parameters": list(parameters), "responses": answer}}

    health = get("Whether the service can take a page")
    health["get"]["responses"]["503"] = {**health["get"]["responses"]["200"],
                                         "description": "Every worker is busy with what nobody waits for"}  # fmt: skip
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "sauvolanet", "version": __version__,
                 "description": "Document binarization: black ink on white paper. Nothing is kept after the response."},
        "paths": {
            "/v1/binarize": post("A document in black and white", BINARIZE, list(MEDIA.values()), _HEADERS),
            "/v1/explain": post("How one page was decided: a zip of PNGs and meta.json", SHAPES, ["application/zip"]),
            "/v1/methods": get("Models, methods, options and limits"),
            "/v1/progress/{job}": get("How far a request is", {**job, "in": "path", "required": True}),
            "/healthz": health,
        },
        "components": {"schemas": {"Error": error}},
    }  # fmt: skip
    if token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document
