// A person at a client made like Element: matrix-js-sdk with its Rust crypto, which neither sends to
// nor reads from devices that their owner has not signed. A JSON line in, one out.
import { createInterface } from "node:readline";
import { logger } from "matrix-js-sdk/lib/logger.js";
import * as sdk from "matrix-js-sdk";
import { decodeRecoveryKey } from "matrix-js-sdk/lib/crypto-api/recovery-key.js";
import {
  AllDevicesIsolationMode,
  OnlySignedDevicesIsolationMode,
  VerificationPhase,
  VerificationRequestEvent,
  VerifierEvent,
} from "matrix-js-sdk/lib/crypto-api/index.js";

logger.setLevel("silent");
for (const name of ["log", "info", "warn", "debug", "error"]) console[name] = () => {};

let client, crypto, verification;
const seen = [];

function told(event) {
  const shield = event.isEncrypted();
  return {
    room: event.getRoomId(),
    sender: event.getSender(),
    event_id: event.getId(),
    was_encrypted: shield,
    failed: event.isDecryptionFailure(),
    type: event.getType(),
    content: event.getContent(),
  };
}

const does = {
  // With a recovery key: as another device of an account that has signing keys.
  async login({ url, user, password, recovery }) {
    const answer = await sdk.createClient({ baseUrl: url }).loginRequest({
      type: "m.login.password",
      identifier: { type: "m.id.user", user },
      password,
    });
    client = sdk.createClient({
      baseUrl: url,
      userId: answer.user_id,
      deviceId: answer.device_id,
      accessToken: answer.access_token,
      cryptoCallbacks: {
        getSecretStorageKey: async ({ keys }) => [Object.keys(keys)[0], decodeRecoveryKey(recovery)],
      },
    });
    await client.initRustCrypto({ useIndexedDB: false });
    crypto = client.getCrypto();
    crypto.olmMachine.roomKeyRequestsEnabled = true; // off by default; other clients have it on
    crypto.setDeviceIsolationMode(new OnlySignedDevicesIsolationMode());
    await crypto.userHasCrossSigningKeys(answer.user_id, true); // its own keys are learned here
    await crypto.bootstrapCrossSigning({
      authUploadDeviceSigningKeys: (make) =>
        make({ type: "m.login.password", identifier: { type: "m.id.user", user }, password }),
    });
    client.on(sdk.ClientEvent.Event, () => {});
    client.on(sdk.RoomEvent.Timeline, (event) => event.getRoomId() && seen.push(event));
    await client.startClient({ initialSyncLimit: 50 });
    await new Promise((ready) =>
      client.on(sdk.ClientEvent.Sync, (state) => state === "PREPARED" && ready()),
    );
    return { user_id: answer.user_id };
  },

  // What was said since the last time, decrypted where that can be.
  async sync() {
    await new Promise((later) => setTimeout(later, 100));
    const events = seen.map(told);
    // what can't be read yet is told again
    const open = seen.filter((event) => event.isDecryptionFailure() || event.isBeingDecrypted());
    seen.splice(0, seen.length, ...open);
    return { events };
  },

  async own_device() {
    return { device: client.getDeviceId() };
  },

  // Talk with unsigned devices, too.
  async be_lenient() {
    crypto.setDeviceIsolationMode(new AllDevicesIsolationMode(false));
    return {};
  },

  async create({ invite, name, direct }) {
    const made = await client.createRoom({
      invite,
      name: name || undefined,
      is_direct: direct,
      initial_state: [
        {
          type: "m.room.encryption",
          state_key: "",
          content: { algorithm: "m.megolm.v1.aes-sha2" },
        },
      ],
    });
    return { room: made.room_id };
  },

  async comes({ room, user }) {
    while (client.getRoom(room)?.getMember(user)?.membership !== "join")
      await new Promise((later) => setTimeout(later, 50));
    return does.sync();
  },

  async send({ room, content }) {
    return { event_id: (await client.sendEvent(room, "m.room.message", content)).event_id };
  },

  // How it shows an event: "none" is without a shield.
  async shield({ room, event_id }) {
    const event = client.getRoom(room).findEventById(event_id);
    const info = await crypto.getEncryptionInfoForEvent(event);
    return { colour: info?.shieldColour, reason: info?.shieldReason };
  },

  // Take the account's backup of room keys, with the key that lies among its secrets.
  async restore() {
    await crypto.loadSessionBackupPrivateKeyFromSecretStorage();
    const info = await crypto.getKeyBackupInfo();
    const trust = await crypto.isKeyBackupTrusted(info);
    const { total, imported } = await crypto.restoreKeyBackup();
    return { total, imported, trusted: trust.trusted && trust.matchesDecryptionKey };
  },

  // Begin a verification by emoji, in a room or from device to device; return what is shown.
  async verify({ user, room, device }) {
    const request = room
      ? await crypto.requestVerificationDM(user, room)
      : await crypto.requestDeviceVerification(user, device);
    await new Promise((settled) => {
      const look = () => request.phase >= VerificationPhase.Ready && settled();
      request.on(VerificationRequestEvent.Change, look);
      look();
    });
    if (request.phase === VerificationPhase.Cancelled)
      return { cancelled: request.cancellationCode };
    const verifier = await request.startVerification("m.sas.v1");
    const shown = new Promise((show) => verifier.on(VerifierEvent.ShowSas, show));
    const done = verifier.verify().then(
      () => ({ done: true }),
      (error) => ({ cancelled: String(error?.code ?? error) }),
    );
    const sas = await Promise.race([shown, done]);
    if (!sas.sas) return sas;
    verification = { sas, done };
    return { emoji: sas.sas.emoji.map(([sign]) => sign) };
  },

  // The person says that they are the same, or not.
  async compared({ same }) {
    if (same) await verification.sas.confirm();
    else verification.sas.mismatch();
    return verification.done;
  },

  async devices({ user }) {
    const all = (await crypto.getUserDeviceInfo([user], true)).get(user) ?? new Map();
    const found = {};
    for (const id of all.keys()) {
      const status = await crypto.getDeviceVerificationStatus(user, id);
      found[id] = { signed: status?.signedByOwner ?? false, verified: status?.isVerified() ?? false };
    }
    const person = await crypto.getUserVerificationStatus(user);
    return { devices: found, verified: person.isCrossSigningVerified() };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { do: what, ...given } = JSON.parse(line);
  let answer;
  try {
    answer = await does[what](given);
  } catch (error) {
    answer = { error: String(error?.stack ?? error) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
process.exit(0);
