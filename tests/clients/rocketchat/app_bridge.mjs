// A double of the Apps-Engine's bridge: runs the App of a folder as a server would, one act a line, and prints what
// the App said, told or showed for it. NODE_PATH names the published engine, whose own classes it uses.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [folder] = process.argv.slice(2);
const require = createRequire(`${process.env.NODE_PATH}/`);
const uikit = require("@rocket.chat/apps-engine/definition/uikit");
const { SlashCommandContext } = require("@rocket.chat/apps-engine/definition/slashcommands");
const info = JSON.parse(readFileSync(`${folder}/app.json`));
const { MootApp } = require(`${folder}/${info.classFile.replace(".ts", ".js")}`);

const USERS = Object.fromEntries(
  ["olivia", "ash", "claude", "codex"].map((name) => [name, { id: `id-${name}`, username: name }]),
);
const ROOMS = {
  general: { id: "GENERAL", slugifiedName: "general", type: "c", usernames: [] },
  dm: { id: "DM", slugifiedName: "", type: "d", usernames: ["claude", "olivia"] },
};
const IN = { "id-olivia": ["GENERAL", "DM"], "id-ash": ["DM"] };
const messages = {};
const kept = new Map();
const made = { commands: [], buttons: [], settings: [] };
let accounts = "claude, codex";
let out = {};

class Builder {
  constructor(message = {}) {
    this.message = { ...message };
  }
  getMessage() {
    return this.message;
  }
}
for (const [verb, field] of Object.entries({
  setSender: "sender",
  setRoom: "room",
  setText: "text",
  setThreadId: "threadId",
  setAttachments: "attachments",
}))
  Builder.prototype[verb] = function (value) {
    this.message[field] = value;
    return this;
  };
Builder.prototype.setBlocks = function (blocks) {
  this.message.blocks = blocks.getBlocks();
  return this;
};

/** What the App may see of a message. */
const shown = ({ sender, room, text, threadId }) => ({
  by: sender?.username,
  room: room.id,
  text,
  thread: threadId ?? null,
});
const read = {
  getEnvironmentReader: () => ({
    getSettings: () => ({ getValueById: async () => accounts }),
    getServerSettings: () => ({ getValueById: async () => "https://chat.example.org/" }),
  }),
  getUserReader: () => ({ getUserRoomIds: async (id) => IN[id] ?? [] }),
  getRoomReader: () => ({ getById: async (id) => Object.values(ROOMS).find((room) => room.id === id) }),
  getMessageReader: () => ({ getById: async (id) => messages[id] }),
  getPersistenceReader: () => ({
    readByAssociation: async (of) => (kept.has(of.getID()) ? [kept.get(of.getID())] : []),
  }),
};
const modify = {
  getCreator: () => ({
    startMessage: () => new Builder(),
    finish: async (builder) => void out.said.push(shown(builder.getMessage())),
  }),
  getNotifier: () => ({
    getMessageBuilder: () => new Builder(),
    notifyUser: async (user, message) => void out.told.push({ to: user.username, text: message.text }),
  }),
};
const persistence = {
  updateByAssociation: async (of, data) => void kept.set(of.getID(), data),
  removeByAssociation: async (of) => void kept.delete(of.getID()),
};

const app = new MootApp(info, { debug: () => {} }, {});
await app.extendConfiguration({
  settings: { provideSetting: async (setting) => void made.settings.push(setting.id) },
  slashCommands: { provideSlashCommand: async (command) => void made.commands.push(command) },
  ui: { registerButton: (button) => made.buttons.push(button) },
});

const acts = {
  set: async ({ value }) => void (accounts = value),
  made: async () => ({
    commands: made.commands.map((one) => one.command),
    buttons: made.buttons,
    settings: made.settings,
  }),
  command: async ({ by, room, words, thread }) =>
    made.commands[0].executor(
      new SlashCommandContext(USERS[by], ROOMS[room], words ? words.split(" ") : [], thread, "t"),
      read,
      modify,
      {},
      persistence,
    ),
  send: async ({ id, by, room, text, attachments, thread }) => {
    const message = { id, sender: USERS[by], room: ROOMS[room], text, attachments, threadId: thread };
    const taken = await app.checkPreMessageSentModify(message, read, {});
    messages[id] = taken ? await app.executePreMessageSentModify(message, new Builder(message)) : message;
    return messages[id];
  },
  press: async ({ by, id, value, actionId = "choose-0" }) =>
    app.executeBlockActionHandler(
      new uikit.UIKitBlockInteractionContext({
        appId: info.id,
        user: USERS[by],
        room: messages[id]?.room,
        message: messages[id],
        actionId,
        value,
        triggerId: "t",
      }),
      read,
      {},
      persistence,
      modify,
    ),
  about: async ({ by, id }) =>
    app.executeActionButtonHandler(
      new uikit.UIKitActionButtonInteractionContext({
        appId: info.id,
        user: USERS[by],
        room: messages[id].room,
        message: messages[id],
        actionId: made.buttons[0].actionId,
        triggerId: "t",
      }),
      read,
      {},
      persistence,
      modify,
    ),
  submit: async ({ by, words }) =>
    app.executeViewSubmitHandler(
      new uikit.UIKitViewSubmitInteractionContext({
        appId: info.id,
        user: USERS[by],
        view: { id: "ask-about", state: { question: { words } } },
        triggerId: "t",
      }),
      read,
      {},
      persistence,
      modify,
    ),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { act, ...given } = JSON.parse(line);
  out = { said: [], told: [] };
  out.result = (await acts[act](given)) ?? null;
  process.stdout.write(`${JSON.stringify(out)}\n`);
}
