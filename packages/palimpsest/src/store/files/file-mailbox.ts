import { lstatSync, watch } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { Envelope, Mailbox, MarkReadOutcome, UnreadOutcome } from "../../ports/mailbox.ts";
import type { Durability } from "../../ports/transcripts.ts";
import { addressShape } from "../../schema/agent-address.ts";
import { agentMessageShape } from "../../schema/agent-message.ts";
import { type EnvelopeId, envelopeId, type MailboxAddress, millis } from "../../schema/brand.ts";
import { type Json, tryParseJson, wellFormedJson } from "../../schema/json.ts";
import { mailboxPollMs, readBytesKeptMax, readMessagesKeptMax, unreadBytesMax } from "../limits.ts";
import { MailboxState } from "../mailbox-state.ts";
import type { DeliveryOutcome } from "../merge-deliveries.ts";
import { errorCode, writeFailure } from "./disk.ts";
import { LineLog, type LinePlace, type LogLockDeps, type ReadLine, toSync, waitForLock } from "./line-log.ts";

interface FileMailboxOptions {
  readonly deps: LogLockDeps;
  readonly address: MailboxAddress;
  readonly folder: string;
  readonly durability: Durability;
}

/**
 * One mailbox, for its senders and its receiver. A process that writes holds `lock`.
 *
 *   messages.jsonl    {"id":…,"from":…,"to":…,"at":…,"sequence":…,"body":{…}}     by senders
 *   read.jsonl        {"read":["<id>",…]}                                         by the receiver
 *
 *   markRead, when enough is read:  messages.jsonl is written again with {"senders":[…]} and what is unread,
 *                                   then read.jsonl without marks
 *
 * A kill between the two leaves marks of messages that are gone, which count for nothing. Readers read the marks first, so
 * that they never see old messages without their marks.
 */
export class FileMailbox implements Mailbox {
  readonly address: MailboxAddress;
  readonly folder: string;
  readonly #deps: LogLockDeps;
  readonly #sync: "synced" | "unsynced";
  readonly #state = new MailboxState<LinePlace>();
  readonly #messages: LineLog;
  readonly #marks: LineLog;
  /** Lines that are no messages: damaged, or of a newer version. They are kept. */
  #damaged: LinePlace[] = [];
  /** Ids that `unread` has returned. */
  #returned: ReadonlySet<EnvelopeId> = new Set();
  /** One at a time: the steps of one process must not wait for each other's lock on disk. */
  #last: Promise<unknown> = Promise.resolve();

  constructor({ deps, address, folder, durability }: FileMailboxOptions) {
    this.#deps = deps;
    this.address = address;
    this.folder = folder;
    this.#sync = toSync(durability);
    this.#messages = new LineLog({
      path: join(folder, "messages.jsonl"),
      onReset: () => {
        this.#state.forgetMessages();
        this.#damaged = [];
      },
      onLine: (line, place) => this.#addLine(line, place),
    });
    this.#marks = new LineLog({
      path: join(folder, "read.jsonl"),
      onReset: () => this.#state.forgetMarks(),
      onLine: (line) => {
        for (const id of marksShape.safeParse(line).data?.read ?? []) this.#state.mark(id);
      },
    });
  }

  exists(): boolean {
    return lstatSync(this.folder, { throwIfNoEntry: false })?.isDirectory() === true;
  }

  async deliver(draft: Omit<Envelope, "sequence">, audience?: "all"): Promise<DeliveryOutcome> {
    const outcome = await this.whileLocked<DeliveryOutcome>(async () => {
      const { id, from, to, at } = draft;
      const body = wellFormedJson(draft.body);
      const line = (sequence: number): string => {
        const head = wellFormedJson({ id, from, to, at, sequence, ...(audience === undefined ? {} : { audience }) });
        return `${head.slice(0, -1)},"body":${body}}`;
      };
      this.#look(() => undefined);
      const acceptance = this.#state.accept({ id, from, bytes: Buffer.byteLength(line(0)) });
      switch (acceptance.kind) {
        case "full":
          return acceptance;
        case "known":
          return { kind: "stored" };
        case "new":
          await this.#messages.append([line(acceptance.sequence)], this.#sync);
          return { kind: "stored" };
      }
    });
    return outcome.kind === "failed" && !this.exists() ? { kind: "missing" } : outcome;
  }

  async unread(): Promise<UnreadOutcome> {
    try {
      const envelopes = this.readUnread({ bytesMax: unreadBytesMax });
      this.#returned = new Set(envelopes.map(({ id }) => id));
      return { kind: "unread", envelopes, damagedLines: this.#damaged.length };
    } catch (error) {
      const code = errorCode(error);
      if (code === undefined) throw error;
      return { kind: "failed", message: `Can't read ${this.folder} (${code}).` };
    }
  }

  /** Throws what the disk throws. */
  readUnread({ bytesMax }: { readonly bytesMax: number }): readonly Envelope[] {
    return this.#look((read) => {
      const envelopes: Envelope[] = [];
      let left = bytesMax;
      for (const { place, bytes } of this.#state.unread) {
        left -= bytes;
        if (left < 0 && envelopes.length > 0) break;
        const envelope = parseEnvelope(tryParseJson(read(place)));
        if (envelope !== undefined) envelopes.push(envelope);
      }
      return envelopes;
    });
  }

  async markRead(ids: readonly EnvelopeId[]): Promise<MarkReadOutcome> {
    if (ids.length === 0) return { kind: "marked" };
    return this.whileLocked(async () => {
      this.#look(() => undefined);
      const unread = ids.filter((id) => this.#state.isUnread(id));
      // Not synced: a mark that a power cut takes away only shows a message again, which its receiver has recorded.
      if (unread.length > 0) await this.#marks.append([JSON.stringify({ read: unread })], "unsynced");
      this.#look(() => undefined);
      if (this.#isMostlyRead()) await this.#removeRead();
      return { kind: "marked" } as const;
    });
  }

  async waitForNews(signal: AbortSignal): Promise<"news" | "aborted"> {
    const done = Promise.withResolvers<"news" | "aborted">();
    const check = (): void => {
      if (this.#hasNews()) done.resolve("news");
    };
    const onAbort = (): void => done.resolve("aborted");
    signal.addEventListener("abort", onAbort, { once: true });
    const poll = setInterval(check, mailboxPollMs);
    const stopWatching = this.#watch(check);
    if (signal.aborted) onAbort();
    else check();
    return done.promise.finally(() => {
      signal.removeEventListener("abort", onAbort);
      clearInterval(poll);
      stopWatching();
    });
  }

  async whileLocked<Outcome>(act: () => Promise<Outcome>): Promise<Outcome | WriteFailure> {
    const turn = this.#last.then(() => this.#lockAndAct(act));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #lockAndAct<Outcome>(act: () => Promise<Outcome>): Promise<Outcome | WriteFailure> {
    const path = join(this.folder, "lock");
    try {
      const lock = await waitForLock(this.#deps, path);
      if (lock.kind === "failed") return lock;
      try {
        return await act();
      } finally {
        await lock.lease.release();
      }
    } catch (error) {
      return writeFailure(error, this.folder);
    }
  }

  #look<Value>(use: (read: ReadLine) => Value): Value {
    this.#marks.look(() => undefined);
    return this.#messages.look(use);
  }

  #hasNews(): boolean {
    try {
      this.#look(() => undefined);
    } catch {
      // A disk that refuses is reported by `unread`.
      return false;
    }
    for (const { id } of this.#state.unread) if (!this.#returned.has(id)) return true;
    return false;
  }

  /** The file, because every lock changes the folder; only its receiver replaces it. What can't be watched is polled. */
  #watch(onChange: () => void): () => void {
    try {
      const { path } = this.#messages;
      const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
      const watcher = watch(isThere ? path : this.folder, onChange);
      watcher.on("error", () => watcher.close());
      return () => watcher.close();
    } catch (error) {
      if (errorCode(error) === undefined) throw error;
      return () => undefined;
    }
  }

  #isMostlyRead(): boolean {
    const { readMessages, readBytes, unreadCount, unreadBytes } = this.#state;
    return (
      (readMessages >= readMessagesKeptMax && readMessages >= unreadCount) ||
      (readBytes >= readBytesKeptMax && readBytes >= unreadBytes)
    );
  }

  async #removeRead(): Promise<void> {
    const lines = this.#look((read) => [
      JSON.stringify({ senders: this.#state.senders() }),
      ...this.#damaged.map(read),
      ...Array.from(this.#state.unread, ({ place }) => read(place)),
    ]);
    await this.#messages.rewrite(lines, this.#sync);
    await this.#marks.rewrite([], "unsynced");
  }

  #addLine(line: Json | undefined, place: LinePlace): void {
    const envelope = parseEnvelope(line);
    if (envelope !== undefined) {
      const { id, from, sequence } = envelope;
      this.#state.add({ id, from, sequence, bytes: place.end - place.start, place });
      return;
    }
    const records = sendersShape.safeParse(line).data?.senders;
    if (records === undefined) this.#damaged.push(place);
    for (const record of records ?? []) this.#state.restoreSender(record);
  }
}

const idShape = z.string().min(1).transform(envelopeId);
const sendersShape = z.object({
  senders: z.array(z.object({ from: addressShape, last: z.int(), ids: z.array(idShape) })),
});
const marksShape = z.object({ read: z.array(idShape) });
const envelopeShape = z.object({
  id: idShape,
  from: addressShape,
  to: addressShape,
  at: z.number().transform(millis),
  sequence: z.int().positive(),
  audience: z.literal("all").optional(),
  body: agentMessageShape,
});

function parseEnvelope(line: Json | undefined): Envelope | undefined {
  const parsed = envelopeShape.safeParse(line).data;
  if (parsed === undefined) return undefined;
  const { audience, ...envelope } = parsed;
  return audience === undefined ? envelope : { ...envelope, audience };
}
