import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { storeDeps } from "../../../../../test/contract/store-deps.ts";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import type { EnvelopeDraft, SendOutcome } from "../../ports/mailbox.ts";
import { sessionAddress, teammateAddress } from "../../schema/agent-address.ts";
import { envelopeId, millis } from "../../schema/brand.ts";
import { memoryMailboxes } from "../memory/memory-mailboxes.ts";
import { SocketFrames } from "./socket-frames.ts";
import { openSocketServer, sendToSocket, type SocketMessage } from "./socket-mailbox.ts";
import { hashMessage, makeProof, newNonce } from "./socket-secret.ts";

const from = sessionAddress("sender");
const draft = (text: string, id = "m1"): EnvelopeDraft => ({
  id: envelopeId(id),
  from,
  to: "uds:/ignored",
  at: millis(1),
  body: { type: "text", text },
});

/** A session that listens in a folder of its own. */
async function makeServer(deliver?: (message: SocketMessage) => Promise<SendOutcome>) {
  const folder = join(await temporaryFolder(), "sockets");
  const got: SocketMessage[] = [];
  const keep = async (message: SocketMessage): Promise<SendOutcome> => {
    got.push(message);
    return { kind: "sent", delivered: [] };
  };
  const open = () => openSocketServer({ deps: storeDeps, folder, name: "s1", deliver: deliver ?? keep });
  const opened = await open();
  if (opened.kind !== "open") throw new Error(opened.kind === "busy" ? opened.holder : opened.message);
  onTestFinished(() => opened.server.close());
  return { folder, path: join(folder, "s1.sock"), got, server: opened.server, open };
}

describe("a socket between sessions", () => {
  it("carries a message and says who sent it", async () => {
    const { path, got, server } = await makeServer();
    expect(server.address).toBe(`uds:${path}`);
    expect(await sendToSocket({ path, draft: draft("hi") })).toEqual({ kind: "sent", delivered: [server.address] });
    expect(got).toEqual([{ id: "m1", from, at: 1, body: { type: "text", text: "hi" } }]);
  });

  it("is for its owner alone, whatever the umask is", async () => {
    const before = process.umask(0);
    try {
      const { folder, path } = await makeServer();
      expect((await stat(folder)).mode & 0o777).toBe(0o700);
      for (const one of [path, join(folder, "secret")]) expect((await stat(one)).mode & 0o777).toBe(0o600);
    } finally {
      process.umask(before);
    }
  });

  it("carries the largest message, and the mailbox behind it stores a repeated one once", async () => {
    const mailboxes = memoryMailboxes();
    const receiver = sessionAddress("s1");
    const opened = await mailboxes.open(receiver);
    const { path } = await makeServer((message) => mailboxes.send({ ...message, to: receiver }));
    const text = "\u0001".repeat(1_000_000);
    for (let again = 0; again < 3; again += 1)
      expect(await sendToSocket({ path, draft: draft(text) })).toMatchObject({ kind: "sent" });
    expect(await sendToSocket({ path, draft: draft(`${text}.`, "m2") })).toMatchObject({ kind: "too-large" });
    const unread = opened.kind === "open" ? await opened.mailbox.unread() : undefined;
    expect(unread?.kind === "unread" ? unread.envelopes.map(({ id, from: who }) => [id, who]) : []).toEqual([
      ["m1", from],
    ]);
  });

  it("says that the mailbox behind it is full", async () => {
    const { path, server } = await makeServer(async () => ({
      kind: "full",
      receivers: [],
      delivered: [],
      message: "50 messages wait",
    }));
    expect(await sendToSocket({ path, draft: draft("hi") })).toEqual({
      kind: "full",
      receivers: [server.address],
      delivered: [],
      message: "50 messages wait",
    });
  });

  it("carries many at once", async () => {
    const { path, got } = await makeServer();
    const sent = Array.from({ length: 40 }, (_, n) => sendToSocket({ path, draft: draft("hi", `m${n}`) }));
    expect((await Promise.all(sent)).every(({ kind }) => kind === "sent")).toBe(true);
    expect(new Set(got.map(({ id }) => id)).size).toBe(40);
  });

  it("takes no message in the name of a team's agent, so that none can pass for its leader", async () => {
    const { path, got, folder } = await makeServer();
    const forged = { ...draft("approved"), from: teammateAddress("lead", "docs") };
    expect(await sendToSocket({ path, draft: forged })).toMatchObject({ kind: "unknown-receiver" });
    const secret = await readFile(join(folder, "secret"), "utf8");
    expect(await speak(path, { secret, text: JSON.stringify(forged) })).toMatchObject({ kind: "refused" });
    expect(got).toEqual([]);
  });
});

/** A client that does each step as it is told. */
async function speak(
  path: string,
  {
    secret,
    text,
    sent = text,
    side = "client",
  }: { secret: string; text: string; sent?: string; side?: "client" | "server" },
): Promise<unknown> {
  const socket = await connected(path);
  const frames = new SocketFrames(socket);
  const clientNonce = newNonce();
  frames.write(JSON.stringify({ nonce: clientNonce }));
  const greeting = JSON.parse((await frames.read(4_096)) ?? "{}") as { nonce: string };
  const proof = makeProof({ secret, side, clientNonce, serverNonce: greeting.nonce, messageHash: hashMessage(text) });
  frames.write(JSON.stringify({ proof, hash: hashMessage(text) }));
  frames.write(sent);
  return JSON.parse((await frames.read(4_096)) ?? "null");
}

async function connected(path: string): Promise<Socket> {
  const socket = connect(path);
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

describe("a stranger at the socket", () => {
  it.each([
    ["with another secret", { secret: "0".repeat(64) }],
    ["with the server's own proof sent back", { side: "server" as const }],
    ["with another message than it proved", { sent: JSON.stringify({ ...draft("evil"), to: undefined }) }],
  ])("is refused: %s", async (_, over) => {
    const { path, got, folder } = await makeServer();
    const secret = await readFile(join(folder, "secret"), "utf8");
    const text = JSON.stringify(draft("hi"));
    expect(await speak(path, { secret, text, ...over })).toMatchObject({ kind: "refused" });
    expect(got).toEqual([]);
    expect(await speak(path, { secret, text })).toMatchObject({ kind: "sent" });
  });

  it.each([
    ["without a word of the protocol", "GET / HTTP/1.1\r\n\r\n"],
    ["with a frame that is too long", Buffer.from([0x7f, 0xff, 0xff, 0xff])],
    ["with no JSON", Buffer.from([0, 0, 0, 1, 0x7b])],
  ])("is hung up on: %s", async (_, bytes) => {
    const { path, got } = await makeServer();
    const socket = await connected(path);
    socket.write(bytes);
    let answer = "";
    socket.on("data", (data: Buffer) => (answer += data.toString()));
    await once(socket, "close");
    expect([answer, got]).toEqual(["", []]);
  });

  it("that leaves in the middle leaves the server at work", async () => {
    const { path, got } = await makeServer();
    (await connected(path)).destroy();
    const socket = await connected(path);
    new SocketFrames(socket).write(JSON.stringify({ nonce: newNonce() }));
    socket.destroy();
    expect(await sendToSocket({ path, draft: draft("hi") })).toMatchObject({ kind: "sent" });
    expect(got).toHaveLength(1);
  });
});

/** Somebody else's server at a path. */
async function listenAt(path: string, onSocket: (socket: Socket) => void): Promise<Server> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    onSocket(socket);
  });
  onTestFinished(() => void server.close());
  server.listen(path);
  await once(server, "listening");
  return server;
}

describe("a client", () => {
  it("tells a server nothing that can't read the secret", async () => {
    const { folder } = await makeServer();
    const path = join(folder, "evil.sock");
    let heard = "";
    await listenAt(path, (socket) => {
      const frames = new SocketFrames(socket);
      void (async () => {
        heard += await frames.read(4_096);
        frames.write(JSON.stringify({ nonce: newNonce(), proof: "0".repeat(64) }));
        heard += await frames.read(4_096);
      })();
    });
    const outcome = await sendToSocket({ path, draft: draft("confidential") });
    expect(outcome).toMatchObject({ kind: "failed", message: expect.stringContaining("did not prove") as unknown });
    expect(heard).toContain("nonce");
    expect(heard).not.toContain("confidential");
  });

  it("does not connect if others may enter the folder, or read or replace the secret", async () => {
    const { folder, path, got } = await makeServer();
    const secret = join(folder, "secret");
    const expectRefused = async (): Promise<void> =>
      expect(await sendToSocket({ path, draft: draft("hi") })).toMatchObject({ kind: "unknown-receiver" });
    await chmod(folder, 0o755);
    await expectRefused();
    await chmod(folder, 0o700);
    await chmod(secret, 0o640);
    await expectRefused();
    await chmod(secret, 0o600);
    const text = await readFile(secret, "utf8");
    await rm(secret);
    await expectRefused();
    const elsewhere = join(await temporaryFolder(), "secret");
    await writeFile(elsewhere, text, { mode: 0o600 });
    await symlink(elsewhere, secret);
    await expectRefused();
    expect(got).toEqual([]);
  });

  it("is told that nobody listens", async () => {
    const { path, server } = await makeServer();
    await server.close();
    expect(await sendToSocket({ path, draft: draft("hi") })).toEqual({
      kind: "unknown-receiver",
      message: `No session listens at uds:${path}.`,
    });
    expect(await sendToSocket({ path: "/nowhere/s.sock", draft: draft("hi") })).toMatchObject({
      kind: "unknown-receiver",
    });
  });

  it("is told that a message may have arrived if there is no answer", async () => {
    const asked = Promise.withResolvers<void>();
    const { path, server } = await makeServer(() => {
      asked.resolve();
      return new Promise(() => undefined);
    });
    const sent = sendToSocket({ path, draft: draft("hi") });
    await asked.promise;
    await server.close();
    expect(await sent).toMatchObject({
      kind: "failed",
      message: expect.stringContaining("may have arrived") as unknown,
    });
  });
});

describe("the place of a socket", () => {
  it("goes to one living process, and is free when it closes", async () => {
    const { open, server } = await makeServer();
    expect(await open()).toMatchObject({ kind: "busy", holder: expect.stringContaining("process") as unknown });
    await server.close();
    const again = await open();
    expect(again.kind).toBe("open");
    if (again.kind === "open") await again.server.close();
  });

  it("is taken over from a process that was killed", async () => {
    const folder = join(await temporaryFolder(), "sockets");
    const script = new URL("../../../../../test/scenario/child/socket-listener.ts", import.meta.url);
    const child = spawn(process.execPath, ["--conditions=@palimpsest/source", script.pathname, folder, "s1"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    await once(child.stdout, "data");
    const path = join(folder, "s1.sock");
    expect(await sendToSocket({ path, draft: draft("hi") })).toMatchObject({ kind: "sent" });
    child.kill("SIGKILL");
    await once(child, "close");
    expect((await stat(path)).isSocket()).toBe(true);
    expect(await sendToSocket({ path, draft: draft("hi") })).toMatchObject({ kind: "unknown-receiver" });
    const deliver = async () => ({ kind: "sent", delivered: [] }) as const;
    const opened = await openSocketServer({ deps: storeDeps, folder, name: "s1", deliver });
    expect(opened.kind).toBe("open");
    expect(await sendToSocket({ path, draft: draft("hi") })).toMatchObject({ kind: "sent" });
    if (opened.kind === "open") await opened.server.close();
  });

  it("is not taken from a file, nor made where others may enter, nor under a name that leads elsewhere", async () => {
    const folder = join(await temporaryFolder(), "sockets");
    const deliver = async () => ({ kind: "sent", delivered: [] }) as const;
    const open = (over: { folder?: string; name?: string }) =>
      openSocketServer({ deps: storeDeps, folder, name: "s1", deliver, ...over });
    await mkdir(folder, { mode: 0o700 });
    await writeFile(join(folder, "s1.sock"), "a file");
    expect(await open({})).toMatchObject({ kind: "failed" });
    expect(await readFile(join(folder, "s1.sock"), "utf8")).toBe("a file");
    expect(await open({ name: "../s2" })).toMatchObject({ kind: "failed" });
    expect(await open({ name: "s".repeat(120) })).toMatchObject({
      kind: "failed",
      message: expect.stringContaining("too long") as unknown,
    });
    await chmod(folder, 0o755);
    expect(await open({ name: "s3" })).toMatchObject({
      kind: "failed",
      message: expect.stringContaining("chmod") as unknown,
    });
  });
});
