// Says things in the name of the person who acts, and only where that person may speak.

import type { IModify, IRead } from "@rocket.chat/apps-engine/definition/accessors";
import type { IRoom } from "@rocket.chat/apps-engine/definition/rooms";
import { RoomType } from "@rocket.chat/apps-engine/definition/rooms";
import type { IUser } from "@rocket.chat/apps-engine/definition/users";

export const ACCOUNTS = "accounts";

/** Where something is said. thread: the id of its first message. */
export interface Place {
  room: IRoom;
  thread?: string;
}

/** The user names of Moot's accounts, as the administrator gave them. */
export async function accountsOf(read: IRead): Promise<string[]> {
  const given = await read.getEnvironmentReader().getSettings().getValueById(ACCOUNTS);
  return String(given ?? "")
    .split(/[\s,]+/)
    .map((name) => name.replace(/^@/, ""))
    .filter(Boolean);
}

/** Words for an account of Moot's: in a direct message with it no name is needed. */
export function addressed(words: string, account: string, { room }: Place): string {
  const alone = room.type === RoomType.DIRECT_MESSAGE && (room.usernames ?? []).length === 2;
  return alone && room.usernames.includes(account) ? words : `@${account} ${words}`;
}

/**
 * Post as the person. False: they are not in the room. What a client sends of a room is not proof that its user is
 * there, and the server lets an App post anywhere.
 */
export async function say(words: string, by: IUser, place: Place, read: IRead, modify: IModify): Promise<boolean> {
  const rooms = await read.getUserReader().getUserRoomIds(by.id);
  if (!rooms.includes(place.room.id)) return false;
  const message = modify.getCreator().startMessage().setSender(by).setRoom(place.room).setText(words);
  if (place.thread) message.setThreadId(place.thread);
  await modify.getCreator().finish(message);
  return true;
}

/** Tell one person something, which nobody else sees. */
export async function tell(words: string, person: IUser, place: Place, modify: IModify): Promise<void> {
  const message = modify.getNotifier().getMessageBuilder().setRoom(place.room).setText(words);
  if (place.thread) message.setThreadId(place.thread);
  await modify.getNotifier().notifyUser(person, message.getMessage());
}
