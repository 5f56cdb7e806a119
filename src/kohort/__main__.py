"""python -m kohort"""

from kohort.cli import main

main()
