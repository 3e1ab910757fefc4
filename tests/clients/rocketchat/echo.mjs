// A bot over @rocket.chat/ddp-client that answers mentions and says again what was edited.
// It is written against the client's own types alone: where it fails, the double is wrong.
// Environment: ROCKETCHAT_HOST (without a scheme), TOKEN or USERNAME and PASSWORD.
import { createHash } from "node:crypto";
import { DDPSDK } from "@rocket.chat/ddp-client";
import { RestClient } from "@rocket.chat/api-client";
import ws from "ws";

globalThis.WebSocket ??= ws;
const { ROCKETCHAT_HOST, TOKEN, USERNAME, PASSWORD } = process.env;

const sdk = await DDPSDK.createAndConnect(`ws://${ROCKETCHAT_HOST}`, { retryCount: 5, retryTime: 50 });
if (TOKEN) await sdk.account.loginWithToken(TOKEN);
else {
  const digest = createHash("sha256").update(PASSWORD).digest("hex");
  await sdk.account.loginWithPassword(USERNAME, digest);
}
const own = sdk.account.uid;
const rest = new RestClient({ baseUrl: `http://${ROCKETCHAT_HOST}` });
rest.setCredentials({ "X-User-Id": own, "X-Auth-Token": sdk.account.user.token });

async function answer(message, about) {
  const place = { roomId: message.rid };
  const typing = `${message.rid}/user-activity`;
  await sdk.call("stream-notify-room", typing, sdk.account.user.username, ["user-typing"], {});
  const who = await rest.get("/v1/users.info", { userId: message.u._id });
  const room = await rest.get("/v1/rooms.info", place);
  const text = `${who.user.name} in ${room.room.name} (${about.roomType}): ${message.msg}`;
  const { message: posted } = await rest.post("/v1/chat.sendMessage", {
    message: { _id: `echo${message._id.slice(4)}`, rid: message.rid, msg: text, tmid: message._id },
  });
  await rest.post("/v1/chat.react", { messageId: message._id, emoji: "eyes", shouldReact: true });
  const thread = await rest.get("/v1/chat.getThreadMessages", { tmid: message._id });
  await rest.post("/v1/chat.update", {
    ...place,
    msgId: posted._id,
    text: `${posted.msg} (${thread.messages.length})`,
  });
}

sdk.stream("room-messages", "__my_messages__", async (message, about) => {
  if (message.u._id === own || message.editedAt || message.reactions || message.tcount) return;
  if (message.mentions.some((user) => user._id === own)) await answer(message, about);
});
sdk.stream("notify-room", "GENERAL/deleteMessage", ({ _id }) => console.log(`deleted ${_id}`));
sdk.connection.on("connection", (status) => console.log(status));
console.log("ready");
