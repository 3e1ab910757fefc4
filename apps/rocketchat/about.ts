// "Ask Moot about this message": a dialog, then the question in the asker's name, quoting the message.

import type { IModify, IPersistence, IRead } from "@rocket.chat/apps-engine/definition/accessors";
import type { IMessage } from "@rocket.chat/apps-engine/definition/messages";
import { RocketChatAssociationModel, RocketChatAssociationRecord } from "@rocket.chat/apps-engine/definition/metadata";
import { RoomType } from "@rocket.chat/apps-engine/definition/rooms";
import type { IRoom } from "@rocket.chat/apps-engine/definition/rooms";
import { UIActionButtonContext } from "@rocket.chat/apps-engine/definition/ui";
import type { IUIActionButtonDescriptor } from "@rocket.chat/apps-engine/definition/ui";
import { BlockBuilder } from "@rocket.chat/apps-engine/definition/uikit";
import type {
  IUIKitResponse,
  UIKitActionButtonInteractionContext,
  UIKitViewSubmitInteractionContext,
} from "@rocket.chat/apps-engine/definition/uikit";
import type { IUser } from "@rocket.chat/apps-engine/definition/users";

import { accountsOf, addressed, say } from "./speech";

const BLOCK = "question";
const INPUT = "words";
const MOST = 4_000; // characters: a message takes 5,000, and the quotation some of them

export const ASK_ABOUT: IUIActionButtonDescriptor = {
  actionId: "ask-about",
  context: UIActionButtonContext.MESSAGE_ACTION,
  labelI18n: "ask_about",
};

/** The message that a dialog is about. It is kept here: what a client sends back of it could be another one. */
interface Asked {
  room: string;
  message: string;
  thread?: string;
}

/** Open the dialog. */
export function opened(
  context: UIKitActionButtonInteractionContext,
  appId: string,
  persistence: IPersistence,
): Promise<IUIKitResponse> | null {
  const { actionId, room, message, user } = context.getInteractionData();
  if (actionId !== ASK_ABOUT.actionId || !message?.id) return null;
  const asked: Asked = { room: room.id, message: message.id, thread: message.threadId };
  const blocks = new BlockBuilder(appId);
  blocks.addInputBlock({
    blockId: BLOCK,
    label: blocks.newPlainTextObject("Your question"),
    element: blocks.newPlainTextInputElement({
      actionId: INPUT,
      multiline: true,
      placeholder: blocks.newPlainTextObject("What does this mean?"),
    }),
  });
  const view = {
    id: ASK_ABOUT.actionId,
    title: blocks.newPlainTextObject("Ask Moot about this message"),
    blocks: blocks.getBlocks(),
    submit: blocks.newButtonElement({ actionId: "submit", text: blocks.newPlainTextObject("Ask") }),
    close: blocks.newButtonElement({ actionId: "close", text: blocks.newPlainTextObject("Cancel") }),
  };
  const response = context.getInteractionResponder().openModalViewResponse(view);
  return persistence.updateByAssociation(kept(user), asked, true).then(() => response);
}

/** Ask what was typed. The answer comes as every answer does. */
export async function submitted(
  context: UIKitViewSubmitInteractionContext,
  read: IRead,
  persistence: IPersistence,
  modify: IModify,
): Promise<IUIKitResponse> {
  const { user, view } = context.getInteractionData();
  const refused = (why: string): IUIKitResponse =>
    context.getInteractionResponder().viewErrorResponse({ viewId: view.id, errors: { [INPUT]: why } });
  const state = view.state as { [BLOCK]?: { [INPUT]?: string } } | undefined;
  const words = state?.[BLOCK]?.[INPUT]?.trim() ?? "";
  if (!words || words.length > MOST) return refused(words ? `No more than ${MOST} characters.` : "Type a question.");
  const [asked] = (await read.getPersistenceReader().readByAssociation(kept(user))) as Asked[];
  const room = asked && (await read.getRoomReader().getById(asked.room));
  const message = asked && (await read.getMessageReader().getById(asked.message));
  const [account] = await accountsOf(read);
  if (!room || !message || message.room.id !== room.id || !account) return refused("It can't be asked about any more.");
  const place = { room, thread: asked.thread };
  const quotation = `[ ](${await addressOf(room, message, read)}) `;
  if (!(await say(quotation + addressed(words, account, place), user, place, read, modify)))
    return refused("You are not in that room.");
  await persistence.removeByAssociation(kept(user));
  return context.getInteractionResponder().successResponse();
}

const kept = (user: IUser) => new RocketChatAssociationRecord(RocketChatAssociationModel.USER, user.id);

/** The message's address, which the server shows as a quotation. */
async function addressOf(room: IRoom, message: IMessage, read: IRead): Promise<string> {
  const site = await read.getEnvironmentReader().getServerSettings().getValueById("Site_Url");
  const path = {
    [RoomType.CHANNEL as string]: `channel/${encodeURIComponent(room.slugifiedName)}`,
    [RoomType.PRIVATE_GROUP as string]: `group/${encodeURIComponent(room.slugifiedName)}`,
  }[room.type];
  return `${String(site).replace(/\/$/, "")}/${path ?? `direct/${room.id}`}?msg=${message.id}`;
}
