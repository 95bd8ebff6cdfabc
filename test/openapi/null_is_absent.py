"""A field that is null is an absent one (C1.10), unknown fields included, which a description cannot say of each.

A request is only wrong if it is without its nulls too.
"""

import jsonschema_rs
import schemathesis
from schemathesis.specs.openapi.checks import negative_data_rejection

JSON_TYPE = "application/json"


def without_nulls(value):
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_nulls(inner) for inner in value]
    return value


def is_valid_body(case, body) -> bool:
    described = case.operation.definition.raw.get("requestBody", {}).get("content", {}).get(JSON_TYPE)
    if described is None:
        return False
    components = case.operation.schema.raw_schema.get("components", {})
    schema = {"allOf": [described["schema"]], "components": components}
    return jsonschema_rs.Draft202012Validator(schema).is_valid(body)


@schemathesis.check
def invalid_data_is_refused(ctx, response, case):
    """As `negative_data_rejection`, which is off."""
    body = case.body
    if isinstance(body, (dict, list)):
        stripped = without_nulls(body)
        if stripped != body and is_valid_body(case, stripped):
            return None
    return negative_data_rejection(ctx, response, case)
