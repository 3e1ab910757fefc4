"""Programs that measure Moot; `python -m bench.NAME`. Warnings of what they run go to stderr."""

from gateway.observability.logs import log_plainly

log_plainly()
