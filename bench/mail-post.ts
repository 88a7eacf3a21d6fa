import { randomUUID } from "node:crypto";
import type { Mailboxes } from "../packages/palimpsest/src/ports/mailbox.ts";
import type { Durability } from "../packages/palimpsest/src/ports/transcripts.ts";
import { teammateAddress } from "../packages/palimpsest/src/schema/agent-address.ts";
import { envelopeId, millis } from "../packages/palimpsest/src/schema/brand.ts";
import { fileMailboxes } from "../packages/palimpsest/src/store/files/file-mailboxes.ts";
import { RedisClient, type RedisReply } from "./redis.ts";

/** A way to send and receive, as the two sides of a conversation use it. */
export interface MailPost {
  send(to: string, text: string): Promise<void>;
  /** Waits for messages, handles them, then acknowledges them; gives their number. */
  receive(handle?: (text: string) => Promise<void>): Promise<number>;
  close(): void;
}

export async function openFilePost(options: {
  folder: string;
  name: string;
  durability: Durability;
}): Promise<MailPost> {
  const deps = { now: () => millis(Date.now()), uuid: randomUUID };
  const mailboxes: Mailboxes = fileMailboxes({ deps, folder: options.folder, durability: options.durability });
  const own = teammateAddress(options.name, "bench");
  const opened = await mailboxes.open(own);
  if (opened.kind !== "open") throw new Error(opened.message);
  const { mailbox } = opened;
  const never = new AbortController().signal;
  return {
    send: async (to, text) => {
      const id = envelopeId(randomUUID());
      const outcome = await mailboxes.send({ id, from: own, to, at: deps.now(), body: { type: "text", text } });
      if (outcome.kind !== "sent") throw new Error(outcome.message);
    },
    receive: async (handle) => {
      await mailbox.waitForNews(never);
      const outcome = await mailbox.unread();
      if (outcome.kind === "failed") throw new Error(outcome.message);
      for (const { body } of outcome.envelopes) await handle?.(body.type === "text" ? body.text : "");
      await mailbox.markRead(outcome.envelopes.map(({ id }) => id));
      return outcome.envelopes.length;
    },
    close: () => undefined,
  };
}

/** A stream for each receiver with one consumer group, as Redis documents it. Two connections: a read that waits blocks its own. */
export async function openRedisPost(options: { path: string; name: string }): Promise<MailPost> {
  const [reader, writer] = await Promise.all([RedisClient.open(options.path), RedisClient.open(options.path)]);
  const own = `mail:${options.name}`;
  await writer.ask("XGROUP", "CREATE", own, "agent", "$", "MKSTREAM");
  return {
    send: async (to, text) => {
      await writer.ask("XADD", `mail:${to}`, "*", "from", options.name, "text", text);
    },
    receive: async (handle) => {
      const reply = await reader.ask(
        "XREADGROUP",
        "GROUP",
        "agent",
        options.name,
        "COUNT",
        "50",
        "BLOCK",
        "0",
        "STREAMS",
        own,
        ">",
      );
      const entries = readEntries(reply);
      for (const { text } of entries) await handle?.(text);
      await reader.ask("XACK", own, "agent", ...entries.map(({ id }) => id));
      // A mailbox keeps no read messages for long either.
      await reader.ask("XDEL", own, ...entries.map(({ id }) => id));
      return entries.length;
    },
    close: () => {
      reader.close();
      writer.close();
    },
  };
}

/** `[[stream, [[id, [name, value, …]], …]]]`. */
function readEntries(reply: RedisReply): readonly { readonly id: string; readonly text: string }[] {
  const [stream = null] = toList(reply);
  const [, entries = null] = toList(stream);
  return toList(entries).map((entry) => {
    const [id = "", fields = null] = toList(entry);
    return { id: String(id), text: String(toList(fields)[3]) };
  });
}

const toList = (reply: RedisReply): readonly RedisReply[] =>
  reply === null || typeof reply === "string" || typeof reply === "number" ? [] : reply;
