// A real provider of OpenID Connect. Standard input: its settings as JSON, one line. Standard output:
// its issuer, once it listens. It ends with its input.
import { createInterface } from "node:readline";
import Provider from "oidc-provider";

const input = createInterface({ input: process.stdin });
const { port, redirects, accounts, ttl } = JSON.parse(await new Promise((take) => input.once("line", take)));
const issuer = `http://127.0.0.1:${port}`;
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "moot",
      client_secret: "the-secret-of-moot-at-its-provider",
      redirect_uris: redirects,
      grant_types: ["authorization_code"],
      response_types: ["code"],
    },
  ],
  claims: { openid: ["sub"], profile: ["name"], email: ["email", "email_verified"], groups: ["groups"] },
  cookies: { keys: ["only for tests"] },
  ttl: { AuthorizationCode: 60, IdToken: ttl ?? 600, AccessToken: 600, Session: 600, Grant: 600, Interaction: 600 },
  findAccount: (_, id) => accounts[id] && { accountId: id, claims: () => ({ sub: id, ...accounts[id] }) },
});
const server = provider.listen(port, "127.0.0.1", () => console.log(issuer));
input.once("close", () => {
  server.closeAllConnections();
  server.close();
});
