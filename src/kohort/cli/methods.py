"""`kohort methods`: every method, its paper, its cost and its options."""

from __future__ import annotations

import json

import click

from kohort.cli.process import say
from kohort.errors import RequestError, did_you_mean


@click.command(short_help="List the methods.", epilog="Example: kohort methods --json")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def methods(names: tuple[str, ...], as_json: bool) -> None:
    """List every method, or those named: paper, cost, options, what it can promise."""
    from kohort.methods import METHODS
    from kohort.schema.promises import DEFINITIONS

    for name in names:
        if name not in METHODS:
            raise RequestError(f"There is no method {name!r}.{did_you_mean(name, METHODS)} Known: {', '.join(METHODS)}.")
    listed = [method.to_dict() for method in METHODS.values() if not names or method.name in names]
    if as_json:
        say(json.dumps({"methods": listed}))
        return
    for method in listed:
        say(click.style(method["name"], bold=True) + f": {method['summary']}")
        for what in ("paper", "cost", "good_for"):
            say(f"  {what.replace('_', ' '):<9} {method[what]}")
        if method["effort"]:
            say(f"  --effort  {method['effort']} by default")
        if method["promises"] != list(DEFINITIONS):
            say(f"  promises  {', '.join(method['promises'])}")
        for name, option in method["options"].items():
            values = "|".join(option["choices"] or ()) or json.dumps(option["default"])
            default = f" [default: {option['default']}]" if option["choices"] and option["default"] else ""
            say(f"  --option {name}={values}  {option['description']}{default}")
    say(f"\nWhere nothing else is said, a method keeps every promise: {', '.join(DEFINITIONS)}.")
    say("Groups of any method can be improved (--effort), except where one value is published alike everywhere.")
    say("A block is a part of at most 20,000 rows (--block) of a table of more than twice as many.")
