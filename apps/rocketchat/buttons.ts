// Permission questions: the buttons of Moot's attachments as blocks, whose clicks the server tells this App.

import type { IMessageBuilder, IRead } from "@rocket.chat/apps-engine/definition/accessors";
import type { IMessage, IMessageAction } from "@rocket.chat/apps-engine/definition/messages";
import { BlockBuilder } from "@rocket.chat/apps-engine/definition/uikit";
import type { UIKitBlockInteractionContext } from "@rocket.chat/apps-engine/definition/uikit";

import { accountsOf } from "./speech";
import type { Place } from "./speech";

const CHOICE = /^!\d+(?: [a-z]\d)?$/; // `!1 k7`: the option, and the code of its question
const ACTION = "choose";

/** The buttons of a message that offers choices; none: it is another message. */
export function choices(message: IMessage): IMessageAction[] {
  const actions = (message.attachments ?? []).flatMap((attachment) => attachment.actions ?? []);
  return actions.every((action) => CHOICE.test(action.msg ?? "")) ? actions : [];
}

/** True if the message is one of Moot's own that offers choices. */
export async function offers(message: IMessage, read: IRead): Promise<boolean> {
  return choices(message).length > 0 && (await accountsOf(read)).includes(message.sender.username);
}

/** The message with blocks in place of its attachments. */
export function withBlocks(message: IMessage, builder: IMessageBuilder, appId: string): IMessage {
  const blocks = new BlockBuilder(appId);
  const elements = choices(message).map((action, number) =>
    blocks.newButtonElement({
      actionId: `${ACTION}-${number}`,
      text: blocks.newPlainTextObject(action.text ?? action.msg ?? ""),
      value: action.msg,
    }),
  );
  blocks.addActionsBlock({ blockId: ACTION, elements });
  return builder.setAttachments([]).setBlocks(blocks).getMessage();
}

/** The choice that was pressed, and where; null: it is no button of ours. */
export async function pressed(
  context: UIKitBlockInteractionContext,
  read: IRead,
): Promise<{ words: string; place: Place } | null> {
  const { actionId, value, room, message } = context.getInteractionData();
  if (!actionId.startsWith(ACTION) || !value || !CHOICE.test(value) || !room || !message) return null;
  if (!(await accountsOf(read)).includes(message.sender.username)) return null;
  return { words: value, place: { room, thread: message.threadId } };
}
