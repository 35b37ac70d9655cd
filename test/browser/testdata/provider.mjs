// An OpenID Connect provider by others, with its own pages for signing in: whoever signs
// in there by a name has that name's address. Arguments: the port, where the packages are,
// where people come back to.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [port, modules, back] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${modules}/.here`));
const { default: Provider } = await import(pathToFileURL(require.resolve("oidc-provider")));
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: "troupe", client_secret: "the-secret-of-the-client", redirect_uris: [back] }],
  claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"], profile: ["name"] },
  features: { devInteractions: { enabled: true } },
  pkce: { required: () => true },
  cookies: { keys: ["only-for-tests"] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@example.org`, email_verified: id !== "eve", groups: id === "ann" ? ["staff", "admins"] : ["guests"], name: id }),
  }),
});
provider.listen(Number(port), "127.0.0.1", () => console.log("listening"));
