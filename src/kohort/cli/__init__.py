"""The command line: reads options, calls `kohort.api`, prints what happened.

One file a command, each found by `commands`. `options` has the options that several commands share, `process` turns errors
and Ctrl-C into exit codes, `progress_line` draws the line that moves. No logic of anonymization is here. Start with `commands`.
"""
