// A bot over @slack/bolt that answers mentions in their thread and confirms pressed buttons.
// It is written against Slack's documentation alone: where it fails, the double is wrong.
// Environment: SLACK_API_URL, MODE (socket|http), PORT, and the three secrets.
import bolt from "@slack/bolt";

const { SLACK_API_URL, MODE, PORT, BOT_TOKEN, APP_TOKEN, SIGNING_SECRET } = process.env;
const app = new bolt.App({
  token: BOT_TOKEN,
  clientOptions: { slackApiUrl: SLACK_API_URL, retryConfig: { retries: 2, minTimeout: 10 } },
  logLevel: "error",
  ...(MODE === "socket"
    ? { socketMode: true, appToken: APP_TOKEN }
    : { signingSecret: SIGNING_SECRET }),
});

app.event("app_mention", async ({ event, client, say }) => {
  const who = await client.users.info({ user: event.user });
  const name = who.user.profile.display_name;
  const posted = await say({
    text: `${name}: ${event.text}`,
    thread_ts: event.ts,
    metadata: { event_type: "echo", event_payload: { of: event.ts } },
    blocks: [
      { type: "section", text: { type: "mrkdwn", text: `${name}: ${event.text}` } },
      {
        type: "actions",
        elements: [
          { type: "button", action_id: "go", value: "v", text: { type: "plain_text", text: "Go" } },
        ],
      },
    ],
  });
  const place = { channel: event.channel, timestamp: event.ts };
  const rooms = await client.users.conversations({ types: "public_channel,im" });
  const since = await client.conversations.history({ channel: event.channel, oldest: event.ts });
  if (!rooms.channels.some((room) => room.id === event.channel) || since.messages.some((m) => m.ts === event.ts || m.bot_id)) {
    throw new Error("the double's rooms or histories are wrong");
  }
  await client.pins.add({ channel: event.channel, timestamp: posted.ts });
  await client.reactions.add({ ...place, name: "eyes" });
  await client.reactions.remove({ ...place, name: "eyes" });
  const thread = await client.conversations.replies({ channel: event.channel, ts: event.ts });
  await client.chat.update({
    channel: event.channel,
    ts: posted.ts,
    text: `${posted.message.text} (${thread.messages.length})`,
    blocks: posted.message.blocks,
  });
  await client.chat.postMessage({
    channel: event.channel,
    thread_ts: event.ts,
    text: "under another name",
    username: "reviewer",
    icon_url: "https://example.org/r.png",
  });
  await client.files.uploadV2({
    channel_id: event.channel,
    thread_ts: event.ts,
    filename: "echo.txt",
    content: event.text,
    initial_comment: "as a file",
  });
});

app.event("message", async () => {});
app.event("reaction_added", async () => {});
app.event("reaction_removed", async () => {});

app.event("pin_added", async ({ event, client }) => {
  const { channel_id: channel, item } = event;
  await client.reactions.add({ channel, timestamp: item.message.ts, name: "pushpin" });
});

app.command("/moot", async ({ ack, command, client }) => {
  const { text, channel_id: channel, user_id: user } = command;
  await ack({ response_type: "ephemeral", text: `taken: ${text}` });
  await client.chat.postEphemeral({ channel, user, text: `whispered: ${text}` });
});

app.action("go", async ({ ack, body, client }) => {
  await ack();
  const { channel, message } = body;
  await client.chat.update({ channel: channel.id, ts: message.ts, text: "gone", blocks: [] });
});

await app.start(MODE === "socket" ? undefined : Number(PORT));
console.log("ready");
