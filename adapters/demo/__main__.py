"""Start the demo agent: `python -I -S adapters/demo [--session-id ID | --resume ID]`."""

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from adapters.demo.program import main

main(sys.argv[1:])
