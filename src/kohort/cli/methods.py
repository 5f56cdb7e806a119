"""`kohort methods`: list the methods with their papers, costs and options."""

from __future__ import annotations

import json

import click

from kohort.cli.process import say
from kohort.errors import RequestError, did_you_mean


@click.command(short_help="List the methods.", epilog="Example: kohort methods --json")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def methods(names: tuple[str, ...], as_json: bool) -> None:
    """List all methods, or only those named: what they do, cost, paper, options and promises."""
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
        say(click.style(method["name"], bold=True))
        say(f"  {method['summary']}")
        for what in ("good_for", "cost", "paper"):
            say(f"  {what.replace('_', ' ').capitalize() + ':':<9} {method[what]}")
        if method["effort"]:
            say(f"  Effort:   {method['effort']} {'round' if method['effort'] == 1 else 'rounds'} of improvement by default")
        if method["promises"] != list(DEFINITIONS):
            say(f"  Promises: {', '.join(method['promises'])}")
        for name, option in method["options"].items():
            values = "|".join(option["choices"] or ()) or json.dumps(option["default"])
            default = f" [default: {option['default']}]" if option["choices"] and option["default"] else ""
            say(f"  Option:   {name}={values}{default}")
            say(f"            {option['description']}")
        say("")
    whole_tables = [name for name, method in METHODS.items() if not method.in_blocks]
    unimproved = [name for name, method in METHODS.items() if method.recodes_globally]
    say("Cost: n is the number of rows. A table of more than 40,000 rows is processed in blocks of at most 20,000 rows,")
    say(f"      except by {_in_words(whole_tables)}. --block sets another size.")
    say("Options: --option NAME=VALUE sets an option.")
    say(f"Promises: every method can keep all promises ({', '.join(DEFINITIONS)}), unless it lists its own.")
    say(f"Effort: --effort ROUNDS improves the groups of every method except {_in_words(unimproved)}.")


def _in_words(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]])
