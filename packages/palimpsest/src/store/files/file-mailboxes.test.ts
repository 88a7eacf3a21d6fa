import { join } from "node:path";
import { expect, it } from "vitest";
import { storeDeps } from "../../../../../test/contract/store-deps.ts";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { sessionAddress } from "../../schema/agent-address.ts";
import { envelopeId, millis } from "../../schema/brand.ts";
import { openSocketServer } from "./socket-mailbox.ts";
import { filePorts, homeMailFolder } from "./store.ts";

const from = sessionAddress("s1");
const send = { id: envelopeId("m1"), from, at: millis(1), body: { type: "text", text: "hi" } } as const;

/** Two projects of one home. */
async function makeHome() {
  const home = await temporaryFolder();
  const mailFolder = homeMailFolder(home);
  const open = (project: string) =>
    filePorts({ deps: storeDeps, folder: join(home, "projects", project), durability: "never", mailFolder });
  const [one, other] = [open("one"), open("other")];
  const opened = await other.mailboxes.open(sessionAddress("s2"));
  if (opened.kind !== "open") throw new Error(opened.message);
  return { home, one, other, mailbox: opened.mailbox };
}

it("a session of another project of the same home is reached by its id", async () => {
  const { one, mailbox } = await makeHome();
  expect(await one.mailboxes.send({ ...send, to: "bridge:s2" })).toMatchObject({ kind: "sent" });
  expect(await mailbox.unread()).toMatchObject({ envelopes: [{ id: "m1", from }] });
});

it("a folder of its own reaches only its own sessions", async () => {
  await makeHome();
  const alone = filePorts({ deps: storeDeps, folder: await temporaryFolder(), durability: "never" });
  expect(await alone.mailboxes.send({ ...send, to: "bridge:s2" })).toMatchObject({ kind: "unknown-receiver" });
});

it("a message by a socket ends in the same mailbox as one by its id, once", async () => {
  const { home, one, other, mailbox } = await makeHome();
  const socket = await openSocketServer({
    deps: storeDeps,
    folder: join(home, "sockets"),
    name: "s2",
    deliver: (message) => other.mailboxes.send({ ...message, to: mailbox.address }),
  });
  if (socket.kind !== "open") throw new Error(socket.kind);
  const { address } = socket.server;
  for (const to of [address, "bridge:s2", address])
    expect(await one.mailboxes.send({ ...send, to })).toMatchObject({ kind: "sent" });
  expect(await mailbox.unread()).toMatchObject({ envelopes: [{ id: "m1", from, to: "bridge:s2", sequence: 1 }] });
  await socket.server.close();
});
