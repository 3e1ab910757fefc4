"""Every command of `moot`, in the order in which help lists them."""

from __future__ import annotations

from gateway.cli.access.command import add_access
from gateway.cli.audit import add_audit
from gateway.cli.backup import add_backup
from gateway.cli.diagnosis.commands import add_agents, add_check, add_describe, add_doctor
from gateway.cli.init.command import add_init
from gateway.cli.login import add_login
from gateway.cli.memory.command import add_memory
from gateway.cli.page.commands import add_page
from gateway.cli.programs import add_programs
from gateway.cli.run import add_run
from gateway.cli.service.command import add_service
from gateway.cli.worker import add_worker

ADD = (
    *(add_init, add_run, add_check, add_doctor, add_agents, add_describe, add_login),
    *(add_service, add_page, add_access, add_memory, add_audit, add_backup, add_worker),
    add_programs,
)
