// @ts-check
// Everything beyond the rooms: it is loaded when somebody first asks for a part of it.

import { styled } from "./lib/sheets.js";
import sheet from "./views.css?sheet";

export { adminEvent, openAdmin } from "./admin/sections.js";
export { showTerminal } from "./chat/terminal.js";
export { showWhy } from "./chat/why.js";
export { memoryChanged, toggleMemory } from "./memory/panel.js";
export { personasChanged, showPersonas } from "./personas/views.js";

await styled(sheet);
