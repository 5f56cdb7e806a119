"""The command line: read flags, call `kohort.api`, print the result.

Each command has its own file; `commands` joins them. `options` has the flags that several commands share, `sections` formats the
help, `verdict` prints results, `process` turns errors and Ctrl-C into exit codes, `progress_line` shows progress. Nothing here
anonymizes. Start with `commands`.
"""
