// A bot over @mattermost/client that answers mentions and says again what was edited.
// It is written against the client's own types alone: where it fails, the double is wrong.
// Environment: MATTERMOST_URL, TOKEN.
import client from "@mattermost/client";
import ws from "ws";

globalThis.WebSocket = ws;
globalThis.CloseEvent ??= class extends Event {
  constructor(type, about) {
    super(type);
    Object.assign(this, about);
  }
};
const { MATTERMOST_URL, TOKEN } = process.env;
const print = console.log;
console.log = (...words) => console.error(...words); // the client's own

const rest = new client.Client4();
rest.setUrl(MATTERMOST_URL);
rest.setToken(TOKEN);
const own = await rest.getMe();
const told = {};

async function answer(post, about) {
  const who = await rest.getUser(post.user_id);
  const room = await rest.getChannel(post.channel_id);
  const text = `${who.username} in ${room.display_name} (${about.channel_type}): ${post.message}`;
  const pending_post_id = `${own.id}:${post.id}`;
  const root_id = post.root_id || post.id;
  const given = { channel_id: post.channel_id, message: text, root_id, pending_post_id };
  const posted = await rest.createPost(given);
  const again = await rest.createPost(given);
  if (posted.id !== again.id) throw new Error("a pending_post_id made two posts");
  await rest.addReaction(own.id, post.id, "eyes");
  const thread = await rest.getPostThread(root_id);
  await rest.patchPost({ id: posted.id, message: `${text} (${thread.order.length})` });
  told.posted = await rest.getPost(posted.id);
}

async function refused() {
  try {
    await rest.getPost("nothingnothingnothingnothin");
  } catch (error) {
    print(`refused ${error.server_error_id} ${error.status_code}`);
  }
}

const socket = new client.WebSocketClient({ minWebSocketRetryTime: 50, reconnectJitterRange: 1 });
socket.addMissedMessageListener(() => {}); // it counts from the beginning again
process.on("unhandledRejection", (error) => print(`failed ${error.stack} ${error.url}`));
socket.addMessageListener(async (message) => {
  const { event, data } = message;
  if (event === "posted") {
    const post = JSON.parse(data.post);
    if (post.user_id === own.id || !data.mentions) return;
    if (!JSON.parse(data.mentions).includes(own.id)) return;
    await answer(post, data);
    await refused();
    const values = {
      Post: [post, told.posted],
      PostList: [await rest.getPosts(post.channel_id)],
      UserProfile: [own],
      Channel: await rest.getMyChannels("team"),
      Posted: [data],
    };
    print(`values ${JSON.stringify(values)}`);
  }
  if (event === "post_edited") {
    const post = JSON.parse(data.post);
    if (post.user_id !== own.id) print(`edited ${post.message}`);
  }
  if (event === "post_deleted") print(`deleted ${JSON.parse(data.post).id}`);
  if (event === "reaction_added") print(`reaction ${JSON.parse(data.reaction).emoji_name}`);
  if (event === "hello") print("ready");
});
socket.initialize(`${MATTERMOST_URL.replace("http", "ws")}/api/v4/websocket`, TOKEN);
