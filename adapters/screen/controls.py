"""Control sequences that a grid alone can carry out."""

from __future__ import annotations

from collections.abc import Callable

from adapters.screen.grid import Grid
from adapters.screen.queries import Csi


def _erase_in_row(grid: Grid, csi: Csi) -> None:
    match csi.numbers[0]:
        case 0:  # of a full row nothing is behind the cursor; xterm alone erases its last cell
            grid.erase_cells(grid.x, grid.cols)
        case 1:
            grid.erase_cells(0, grid.x + 1)
        case 2:
            grid.erase_cells(0, grid.cols)


def _erase_in_screen(grid: Grid, csi: Csi) -> None:
    match csi.numbers[0]:
        case 0:
            _erase_in_row(grid, csi)
            grid.erase_rows(grid.y + 1, grid.rows)
        case 1:
            _erase_in_row(grid, csi)
            grid.erase_rows(0, grid.y)
        case 2:
            grid.erase_rows(0, grid.rows)
        case 3:
            grid.history.clear()
        case 22:  # kitty: into the scrollback first
            grid.keep_screen()
            grid.erase_rows(0, grid.rows)


def _clear_tabs(grid: Grid, csi: Csi) -> None:
    if csi.numbers[0] == 3:
        grid.tabs.clear()
    elif csi.numbers[0] == 0:
        grid.tabs.discard(grid.x)


def _move_columns(grid: Grid, count: int) -> None:
    grid.move(min(grid.x, grid.cols - 1) + count, grid.y)


def _move_rows(grid: Grid, count: int, *, to_start: bool = False) -> None:
    grid.move_rows(count)
    grid.x = 0 if to_start else grid.x


ON_GRID: dict[str, Callable[[Grid, Csi], None]] = {
    "@": lambda grid, csi: grid.insert_cells(csi.amount),
    "A": lambda grid, csi: _move_rows(grid, -csi.amount),
    "B": lambda grid, csi: _move_rows(grid, csi.amount),
    "C": lambda grid, csi: _move_columns(grid, csi.amount),
    "D": lambda grid, csi: _move_columns(grid, -csi.amount),
    "E": lambda grid, csi: _move_rows(grid, csi.amount, to_start=True),
    "F": lambda grid, csi: _move_rows(grid, -csi.amount, to_start=True),
    "G": lambda grid, csi: grid.move(csi.amount - 1, grid.y),
    "I": lambda grid, csi: grid.tab(csi.amount),
    "J": _erase_in_screen,
    "K": _erase_in_row,
    "L": lambda grid, csi: grid.insert_lines(csi.amount),
    "M": lambda grid, csi: grid.delete_lines(csi.amount),
    "P": lambda grid, csi: grid.delete_cells(csi.amount),
    "S": lambda grid, csi: grid.scroll_up(csi.amount),
    "T": lambda grid, csi: grid.scroll_down(csi.amount) if len(csi.numbers) == 1 else None,
    "X": lambda grid, csi: grid.erase_cells(min(grid.x, grid.cols - 1), grid.x + csi.amount),
    "Z": lambda grid, csi: grid.tab(-csi.amount),
    "`": lambda grid, csi: grid.move(csi.amount - 1, grid.y),
    "a": lambda grid, csi: _move_columns(grid, csi.amount),
    "b": lambda grid, csi: grid.repeat(csi.amount),
    "e": lambda grid, csi: _move_rows(grid, csi.amount),
    "g": _clear_tabs,
    "?J": _erase_in_screen,
    "?K": _erase_in_row,
}
