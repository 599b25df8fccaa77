"""docs/openapi.yaml, against which tests check requests and responses."""

import functools
import json
from collections.abc import Iterator

import yaml
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from .deployed import DEPLOY

FILE = DEPLOY.parent / "docs/openapi.yaml"


@functools.cache
def specification() -> dict:
    return yaml.safe_load(FILE.read_text())


@functools.cache
def registry() -> Registry:
    return Registry().with_resource("urn:api", Resource(specification(), DRAFT202012))


def resolved(node: dict) -> dict:
    """Follows a reference within the file."""
    if "$ref" not in node:
        return node
    found = specification()
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return found


def operation(method: str, path: str) -> dict:
    return specification()["paths"][path][method.lower()]


def validate_body(content: dict, body: str) -> None:
    # References in a schema are relative to the whole file.
    schema = json.loads(json.dumps(content["schema"]).replace('"#/', '"urn:api#/'))
    Draft202012Validator(schema, registry=registry()).validate(json.loads(body))


def check_request(method: str, path: str, body) -> None:
    """Checks the body of a request that has succeeded against the schema of its operation. One that
    is described as required must be there.
    """
    described = resolved(operation(method, path).get("requestBody", {}))
    if body is not None:
        validate_body(described["content"]["application/json"], json.dumps(body))
    else:
        assert not described.get("required"), (method, path)


def check(method: str, path: str, status: int, body: str,
          kind: str = "application/json") -> None:
    """Checks the body of a response against the schema of its operation. A success must have a
    status that the file has.
    """
    responses = operation(method, path)["responses"]
    assert str(status) in responses or status >= 400, (method, path, status, list(responses))
    response = resolved(responses.get(str(status)) or responses["default"])
    assert kind in response["content"], (method, path, status, kind)
    if kind == "application/json":
        validate_body(response["content"][kind], body)


def open_objects(schema, place: str, closed: bool = False) -> Iterator[str]:
    """The places in a schema of which an object may have members that the file does not have."""
    if isinstance(schema, list):
        for part in schema:
            yield from open_objects(part, place)
    if not isinstance(schema, dict):
        return
    closed = closed or bool({"additionalProperties", "unevaluatedProperties"} & schema.keys())
    if "$ref" in schema:
        yield from open_objects(resolved(schema), schema["$ref"].rpartition("/")[2], closed)
    if "object" in schema.get("type", "") and not closed and schema.get("maxProperties") != 0:
        yield place
    for name, member in schema.get("properties", {}).items():
        yield from open_objects(member, f"{place}.{name}")
    for name in ("items", "additionalProperties", "anyOf"):
        yield from open_objects(schema.get(name), place)
    for part in schema.get("allOf", []):
        yield from open_objects(part, place, closed=True)
