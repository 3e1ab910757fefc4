"""`moot backup` and `moot restore`: their arguments, and what they say."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gateway.cli.command_line import account_name, add_config, config_file, configured


def add_backup(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Both commands and their options."""
    backup = commands.add_parser("backup", help="write all into one file, also while it runs")
    backup.add_argument("file", nargs="?", type=Path, help="default: data/backups/moot-....tar.gz")
    backup.add_argument(
        "--scopes", action="store_true", help="the agents' HOMEs and working directories, too"
    )
    backup.add_argument(
        "--with-secrets", action="store_true", help="moot.env, tokens, keys and logins, too"
    )
    backup.set_defaults(do=run_backup)
    restore = commands.add_parser("restore", help="put a backup in place of the data")
    restore.add_argument("file", type=Path)
    restore.add_argument("--to", type=Path, metavar="FOLDER", help="a new one, beside what runs")
    restore.add_argument(
        "--force", action="store_true", help="though there is data; it is kept beside"
    )
    restore.set_defaults(do=run_restore)
    for command in (backup, restore):
        add_config(command)


def run_backup(arguments: argparse.Namespace) -> int:
    """Raises ConfigError."""
    from gateway.backup.backup import BackupOptions, back_up, default_file, knowing_bots
    from gateway.core.clock import clock

    config = configured(arguments)
    at = clock()
    target = (arguments.file or default_file(config, at)).absolute()
    clean = knowing_bots(config, arguments.redactor)
    wanted = BackupOptions(scopes=arguments.scopes, secrets=arguments.with_secrets, clean=clean)
    made = back_up(config, config_file(arguments), target, wanted, at)
    size_mb = target.stat().st_size / 1e6
    sys.stdout.write(
        f"{target}\n{len(made.files)} files, {size_mb:.1f} MB, database {made.schema_version}, "
        f"checked; {'with' if wanted.secrets else 'without'} secrets\n"
    )
    sys.stdout.write("".join(f"{line}\n" for line in made.left_out))
    return 0


def run_restore(arguments: argparse.Namespace) -> int:
    """Raises ConfigError."""
    from gateway.backup.restore import RestoredBy, restore_in_place, restore_to
    from gateway.core.clock import clock
    from gateway.web.signin.names import SHELL
    from store.versions import HEAD

    who = RestoredBy(clock(), HEAD, SHELL, account_name())
    archive = arguments.file.absolute()
    if arguments.to:
        lines = restore_to(archive, arguments.to, who)
    else:
        config = configured(arguments)
        file = config_file(arguments)
        lines = restore_in_place(archive, config, file, who, force=arguments.force)
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0
