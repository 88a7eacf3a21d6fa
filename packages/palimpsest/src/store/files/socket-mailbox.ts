import { chmod, lstat, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { once } from "node:events";
import { z } from "zod";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { ClockDep, IdsDep } from "../../ports/clock-dep.ts";
import type { EnvelopeDraft, SendOutcome } from "../../ports/mailbox.ts";
import { addressShape, formatAddress, isTeamName, parseAddress } from "../../schema/agent-address.ts";
import { agentMessageShape } from "../../schema/agent-message.ts";
import { envelopeId, type MailboxAddress, millis } from "../../schema/brand.ts";
import { tryParseJson, wellFormedJson } from "../../schema/json.ts";
import { envelopeIdCharsMax } from "../../schema/limits.ts";
import {
  socketConnectionMsMax,
  socketConnectionsMax,
  socketGreetingBytesMax,
  socketMessageBytesMax,
  socketPathBytesMax,
} from "../limits.ts";
import { errorCode, fileMode, isAbsent, makeFolder, writeFailure } from "./disk.ts";
import { acquireLock } from "./file-leases.ts";
import { createLogLockDeps } from "./line-log.ts";
import { SocketFrames } from "./socket-frames.ts";
import { createSocketSecret, hashMessage, isProof, makeProof, newNonce, readSocketSecret } from "./socket-secret.ts";

/**
 * Messages to a session on this machine. Node tells neither side who the other one is, so each proves that it can read a
 * secret that only their user can read, in the socket's folder. One connection carries one message:
 *
 *   client                                      server
 *   {nonce: c} ──────────────────────────────▶
 *              ◀────────────────────────────── {nonce: s, proof: HMAC(secret, server, c, s)}
 *   checks it
 *   {proof: HMAC(secret, client, c, s, hash)} ▶ checks it: wrong ──▶ {kind: "refused"}, the end
 *   the message ─────────────────────────────▶ checks its hash ──▶ delivers it, for good
 *              ◀────────────────────────────── {kind: "sent"} or why not
 *
 * A client without its answer does not know whether it arrived: it sends the same id again, and the mailbox stores it once.
 * Before its proof nobody makes the server read more than a few kilobytes, or wait longer than `socketConnectionMsMax`.
 */
export interface SocketServer {
  readonly address: MailboxAddress;
  /** Must not reject. */
  close(): Promise<void>;
}

type OpenSocketOutcome =
  | { readonly kind: "open"; readonly server: SocketServer }
  /** Another living process listens there. */
  | { readonly kind: "busy"; readonly holder: string }
  | WriteFailure;

/** A message of another session. Its sender is who it says; what it says is untrusted. */
export type SocketMessage = Omit<EnvelopeDraft, "to">;

interface OpenSocketOptions {
  readonly deps: ClockDep & IdsDep;
  /** Only for sockets; created if it is missing. */
  readonly folder: string;
  /** The session's id. */
  readonly name: string;
  /** Stores it in the session's mailbox. The answer is the client's. */
  readonly deliver: (message: SocketMessage) => Promise<SendOutcome>;
}

/** Listens until it is closed. Replaces the socket of a process that died. */
export async function openSocketServer(options: OpenSocketOptions): Promise<OpenSocketOutcome> {
  const { folder, name } = options;
  const path = join(folder, `${name}.sock`);
  if (!isTeamName(name)) return refusal(`${JSON.stringify(name)} can't be the name of a socket.`);
  if (Buffer.byteLength(path) > socketPathBytesMax)
    return refusal(`${path} is too long for a socket: ${socketPathBytesMax} bytes at most.`);
  try {
    await makeFolder(folder);
    const secret = await prepareSecret(folder);
    if (secret.kind !== "secret") return refusal(secret.message);
    const lock = await acquireLock(createLogLockDeps(options.deps), join(folder, `${name}.lock`));
    if (lock.kind !== "acquired") return lock;
    try {
      const server = await listen({ path, secret: secret.secret, deliver: options.deliver });
      const close = async (): Promise<void> => {
        await server.stop();
        await removeSocket(path).catch(() => undefined);
        await lock.lease.release();
      };
      return { kind: "open", server: { address: socketAddress(path), close } };
    } catch (error) {
      await lock.lease.release();
      throw error;
    }
  } catch (error) {
    return writeFailure(error, path);
  }
}

async function prepareSecret(folder: string): ReturnType<typeof readSocketSecret> {
  const known = await readSocketSecret(folder);
  if (known.kind !== "missing") return known;
  await createSocketSecret(folder);
  return readSocketSecret(folder);
}

const socketAddress = (path: string): MailboxAddress => formatAddress({ kind: "socket", path });

const refusal = (message: string): WriteFailure => ({ kind: "failed", why: "io", message });

interface ServedSocket extends Pick<OpenSocketOptions, "deliver"> {
  readonly path: string;
  readonly secret: string;
}

/** Only by the holder of the lock: what is at the path was left by a process that is gone. */
async function listen(served: ServedSocket): Promise<{ readonly stop: () => Promise<void> }> {
  await removeSocket(served.path);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    hangUpLate(socket);
    void serve(socket, served).finally(() => socket.end());
  });
  server.maxConnections = socketConnectionsMax;
  server.listen(served.path);
  await once(server, "listening");
  // Nobody gets to it before this, because only its owner may enter the folder.
  await chmod(served.path, fileMode);
  return {
    stop: async () => {
      if (!server.listening) return;
      const closed = once(server, "close");
      server.close();
      // Clients that have no answer yet send their messages again.
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Leaves files alone. */
async function removeSocket(path: string): Promise<void> {
  try {
    if ((await lstat(path)).isSocket()) await rm(path, { force: true });
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
}

function hangUpLate(socket: Socket): void {
  // Whatever goes wrong on the way is seen by the reads, which end.
  socket.on("error", () => undefined);
  const timer = setTimeout(() => socket.destroy(), socketConnectionMsMax);
  socket.once("close", () => clearTimeout(timer));
}

async function serve(socket: Socket, { secret, deliver }: ServedSocket): Promise<void> {
  const frames = new SocketFrames(socket);
  const hello = helloShape.safeParse(tryParseJson((await frames.read(socketGreetingBytesMax)) ?? "")).data;
  if (hello === undefined) return;
  const nonces = { secret, clientNonce: hello.nonce, serverNonce: newNonce() };
  const proof = makeProof({ ...nonces, side: "server", messageHash: "" });
  frames.write(JSON.stringify({ nonce: nonces.serverNonce, proof }));
  const claim = claimShape.safeParse(tryParseJson((await frames.read(socketGreetingBytesMax)) ?? "")).data;
  if (claim === undefined || !isProof(claim.proof, { ...nonces, side: "client", messageHash: claim.hash }))
    return frames.write(JSON.stringify({ kind: "refused", message: "It did not prove that it can read the secret." }));
  const text = (await frames.read(socketMessageBytesMax)) ?? "";
  const message = messageShape.safeParse(hashMessage(text) === claim.hash ? tryParseJson(text) : undefined).data;
  if (message === undefined || parseAddress(message.from)?.kind === "teammate")
    return frames.write(JSON.stringify({ kind: "refused", message: "It is no message of a session." }));
  const { kind, ...rest } = await deliver(message);
  frames.write(JSON.stringify({ kind, message: "message" in rest ? rest.message : "" }));
}

/** Must not reject. */
export async function sendToSocket(options: {
  readonly path: string;
  readonly draft: EnvelopeDraft;
}): Promise<SendOutcome> {
  const { path, draft } = options;
  if (parseAddress(draft.from)?.kind === "teammate")
    return { kind: "unknown-receiver", message: `A socket takes messages of sessions: ${draft.from} is an agent.` };
  const secret = await readSocketSecret(dirname(path)).catch((error: unknown) => {
    if (errorCode(error) === undefined) throw error;
    return { kind: "missing", message: `${path} can't be reached.` } as const;
  });
  if (secret.kind !== "secret")
    return { kind: "unknown-receiver", message: `uds:${path} is no session's socket: ${secret.message}` };
  const socket = connect(path);
  hangUpLate(socket);
  try {
    if (!(await isConnected(socket)))
      return { kind: "unknown-receiver", message: `No session listens at uds:${path}.` };
    return toOutcome(await talk(socket, { draft, secret: secret.secret }), path);
  } finally {
    socket.destroy();
  }
}

const isConnected = (socket: Socket): Promise<boolean> =>
  new Promise((resolve) => {
    socket.once("connect", () => resolve(true));
    socket.once("close", () => resolve(false));
  });

type Answer = z.infer<typeof answerShape>;

async function talk(
  socket: Socket,
  { draft, secret }: { readonly draft: EnvelopeDraft; readonly secret: string },
): Promise<Answer> {
  const frames = new SocketFrames(socket);
  const clientNonce = newNonce();
  frames.write(JSON.stringify({ nonce: clientNonce }));
  const greeting = greetingShape.safeParse(tryParseJson((await frames.read(socketGreetingBytesMax)) ?? "")).data;
  const nonces = { secret, clientNonce, serverNonce: greeting?.nonce ?? "" };
  if (greeting === undefined || !isProof(greeting.proof, { ...nonces, side: "server", messageHash: "" }))
    return { kind: "refused", message: "the other side did not prove that it can read the secret" };
  const { id, from, at, body } = draft;
  const text = wellFormedJson({ id, from, at, body });
  const hash = hashMessage(text);
  frames.write(JSON.stringify({ proof: makeProof({ ...nonces, side: "client", messageHash: hash }), hash }));
  frames.write(text);
  const answer = answerShape.safeParse(tryParseJson((await frames.read(socketGreetingBytesMax)) ?? "")).data;
  return answer ?? { kind: "failed", message: "the connection ended before the answer; it may have arrived" };
}

function toOutcome({ kind, message }: Answer, path: string): SendOutcome {
  const address = socketAddress(path);
  switch (kind) {
    case "sent":
      return { kind, delivered: [address] };
    case "full":
      return { kind, receivers: [address], delivered: [], message };
    case "unknown-receiver":
    case "too-large":
      return { kind, message };
    case "failed":
    case "refused":
      return { kind: "failed", why: "io", message: `Can't send to ${address}: ${message}.`, delivered: [] };
  }
}

const nonceShape = z.string().regex(/^[0-9a-f]{64}$/);
const helloShape = z.object({ nonce: nonceShape });
const greetingShape = z.object({ nonce: nonceShape, proof: nonceShape });
const claimShape = z.object({ proof: nonceShape, hash: nonceShape });
const messageShape = z.object({
  id: z.string().min(1).max(envelopeIdCharsMax).transform(envelopeId),
  from: addressShape,
  at: z.number().transform(millis),
  body: agentMessageShape,
});
const answerShape = z.object({
  kind: z.enum(["sent", "full", "unknown-receiver", "too-large", "failed", "refused"]),
  message: z.string(),
});
