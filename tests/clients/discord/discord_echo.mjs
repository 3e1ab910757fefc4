// A bot over discord.js that answers mentions with a reply, edits it, and confirms pressed buttons.
// It is written against Discord's documentation alone: where it fails, the double is wrong.
// Environment: API_URL (without version), TOKEN.
import {
  ActionRowBuilder,
  AttachmentBuilder,
  ButtonBuilder,
  ButtonStyle,
  Client,
  GatewayIntentBits,
  MessageFlags,
  Partials,
} from "discord.js";

const { API_URL, TOKEN } = process.env;
const client = new Client({
  intents: [
    GatewayIntentBits.Guilds,
    GatewayIntentBits.GuildMessages,
    GatewayIntentBits.GuildMessageReactions,
    GatewayIntentBits.DirectMessages,
    GatewayIntentBits.MessageContent,
  ],
  partials: [Partials.Channel],
  rest: { api: API_URL, retries: 2 },
});

client.on("messageCreate", async (message) => {
  if (message.author.bot || !message.mentions.has(client.user)) return;
  const row = new ActionRowBuilder().addComponents(
    new ButtonBuilder().setCustomId("go").setLabel("Go").setStyle(ButtonStyle.Primary),
  );
  const answer = await message.reply({
    content: `${message.member.displayName}: ${message.content}`,
    components: [row],
    nonce: message.id,
    enforceNonce: true,
  });
  await message.react("👀");
  await message.reactions.resolve("👀").users.remove(client.user);
  const history = await message.channel.messages.fetch({ limit: 100, after: message.id });
  await answer.edit(`${answer.content} (${history.size})`);
  await message.channel.sendTyping();
  const thread = await message.startThread({ name: "echo" });
  const file = new AttachmentBuilder(Buffer.from(message.content), { name: "echo.txt" });
  await thread.send({ content: "as a file", files: [file] });
});

client.on("interactionCreate", async (interaction) => {
  if (interaction.isButton()) {
    await interaction.update({ content: "gone", components: [] });
  } else if (interaction.isAutocomplete()) {
    const { name, value } = interaction.options.getFocused(true);
    await interaction.respond([{ name: `${name} ${value}`, value }]);
  } else if (interaction.isMessageContextMenuCommand()) {
    await interaction.reply({
      content: `about ${interaction.targetMessage.content}`,
      flags: MessageFlags.Ephemeral,
    });
    await interaction.followUp({ content: "one more", flags: MessageFlags.Ephemeral });
    const archived = await interaction.channel.threads.fetchArchived({ limit: 2 });
    await interaction.channel.send(`${archived.threads.size} archived`);
  } else if (interaction.isChatInputCommand()) {
    const text = interaction.options.getString("text");
    await interaction.reply({
      content: `${interaction.commandName} ${text}`,
      flags: MessageFlags.Ephemeral,
    });
  }
});

client.once("clientReady", async () => {
  await client.application.commands.set([
    {
      name: "stop",
      description: "interrupt",
      options: [{ name: "text", description: "more", type: 3, autocomplete: true }],
    },
    { name: "Ask claude", type: 3 },
  ]);
  console.log("ready");
});

await client.login(TOKEN);
