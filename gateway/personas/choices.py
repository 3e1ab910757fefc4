"""The agents that a persona's file can name here, each with what is known of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from contract.values import dataclass
from gateway.sessions.programs import agent_names
from gateway.sessions.sessions import AgentProgram
from gateway.settings.personas.personas import Persona
from gateway.settings.tables import AgentTable


@dataclass(frozen=True, slots=True)
class FolderChoice:
    """A folder that moot.toml or a persona names. name: by which people choose it, or whose."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class AgentChoice:
    """An agent that a persona can be given. models: that personas of it have. workspace: the one
    that it has without a persona's word; "": a folder of its own for each room and person."""

    name: str
    title: str
    installed: bool
    takes_model: bool
    models: tuple[str, ...]
    workspace: str
    folders: tuple[FolderChoice, ...]


@dataclass(frozen=True, slots=True)
class AgentChoices:
    """Looks them up. personas: those that are good now, by name."""

    tables: Mapping[str, AgentTable]
    programs: Callable[[str], AgentProgram]
    personas: Mapping[str, Persona]

    def all(self) -> list[AgentChoice]:
        """Every agent, those of moot.toml first."""
        return [self._choice(name) for name in agent_names(self.tables)]

    def _choice(self, name: str) -> AgentChoice:
        program = self.programs(name)
        theirs = [one for one in self.personas.values() if one.front.agent == name]
        models = (program.own_model, *(one.front.model for one in theirs))
        return AgentChoice(
            name,
            program.title,
            program.available,
            program.takes_model,
            tuple(dict.fromkeys(model for model in models if model)),
            str(program.workspace or ""),
            tuple(FolderChoice(*pair) for pair in self._folders(name, theirs).items()),
        )

    def _folders(self, agent: str, theirs: list[Persona]) -> Mapping[str, str]:
        """Their paths by their names; no path twice."""
        table = self.tables.get(agent)
        named = dict(table.workspaces) if table else {}
        for one in theirs:
            named |= one.front.workspaces
        for one in theirs:
            if one.front.workspace is not None:
                named.setdefault(f"@{one.name}", one.front.workspace)
        by_path = {str(path): name for name, path in reversed(named.items())}
        return {name: path for path, name in reversed(by_path.items())}
