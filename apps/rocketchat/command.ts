// `/moot`: a question, or one of Moot's commands without its `!`.

import type { IHttp, IModify, IPersistence, IRead } from "@rocket.chat/apps-engine/definition/accessors";
import type { ISlashCommand, SlashCommandContext } from "@rocket.chat/apps-engine/definition/slashcommands";

import { COMMANDS } from "./commands";
import { accountsOf, addressed, say, tell } from "./speech";
import type { Place } from "./speech";

const UNSET = "An administrator has to name Moot's accounts: Administration, Apps, Moot, Settings.";

export class MootCommand implements ISlashCommand {
  command = "moot";
  i18nParamsExample = "command_params";
  i18nDescription = "command_description";
  providesPreview = false;

  async executor(
    context: SlashCommandContext,
    read: IRead,
    modify: IModify,
    _: IHttp,
    __: IPersistence,
  ): Promise<void> {
    const place: Place = { room: context.getRoom(), thread: context.getThreadId() };
    const by = context.getSender();
    const accounts = await accountsOf(read);
    const given = context.getArguments();
    const named = given[0]?.startsWith("@") ? accounts.find((name) => `@${name}` === given[0]) : undefined;
    const account = named ?? accounts[0];
    const words = (named ? given.slice(1) : given).join(" ").trim();
    if (!account) await tell(UNSET, by, place, modify);
    else if (!words) await tell(hints(account), by, place, modify);
    else await say(addressed(spoken(words), account, place), by, place, read, modify);
  }
}

/** The words as Moot takes them: a command has its `!`. A question that begins like one ends with its mark. */
export function spoken(words: string): string {
  const first = words.split(/\s/, 1)[0].toLowerCase();
  return Object.hasOwn(COMMANDS, first) && !words.endsWith("?") ? `!${words}` : words;
}

function hints(account: string): string {
  const rows = Object.entries(COMMANDS).map(([name, says]) => `- \`/moot ${name}\` ${says}`);
  return [
    `\`/moot\` and a question asks @${account}. It answers where it is a member: \`/invite @${account}\`.`,
    ...rows,
  ].join("\n");
}
