import { readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { type Millis, millis, type SessionId } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { parsedOrUndefined } from "palimpsest/internal/schema/json";
import { makeFolder, replaceFile } from "palimpsest/internal/store/files/disk";
import { saidText } from "palimpsest/internal/transcript/person";
import { keptInputBytesMax } from "./limits.ts";

/** What a person typed and the log does not hold yet. */
export interface Kept {
  /** Sent and queued, oldest first. */
  readonly messages: readonly KeptMessage[];
  /** In the editor. */
  readonly draft: string;
}

export interface KeptMessage {
  readonly text: string;
  /** When it was sent. */
  readonly at: number;
}

export interface KeptNow {
  readonly texts: readonly string[];
  readonly draft: string;
  readonly at: Millis;
}

const shape = z.object({
  messages: z.array(z.object({ text: z.string(), at: z.number() })),
  draft: z.string(),
  /** Of the process that keeps it: as long as it runs, nobody else takes it up. */
  pid: z.int().optional(),
});

/** As it stands on disk. */
export type KeptFile = z.infer<typeof shape>;

const nothingKept: Kept = { messages: [], draft: "" };

export const keptFileName = "input.json";

/** Beside the session's notes. `folder`: the project's. */
export const keptInputPath = (folder: string, session: SessionId): string => join(folder, session, keptFileName);

/**
 * Keeps what would be lost if the process were killed now, in one place at a time: before a session is open and between two
 * of them in one of its own, then beside the session's log. Writes are one after the other, the newest state last; what was
 * put meanwhile is written once. Never fails a chat: where the disk refuses, the log will say so as well.
 */
export class KeptInput {
  #path: string | undefined;
  #wanted: Kept = nothingKept;
  #written: Kept | undefined = nothingKept;
  #writing: Promise<void> | undefined;

  put({ texts, draft, at }: KeptNow): void {
    // Said twice, it is as old as the first time: what counts is that the log has nothing of it from before.
    const known = this.#wanted.messages;
    if (
      draft === this.#wanted.draft &&
      isDeepStrictEqual(
        texts,
        known.map(({ text }) => text),
      )
    )
      return;
    this.#wanted = { messages: texts.map((text) => known.find((one) => one.text === text) ?? { text, at }), draft };
    this.#writing ??= this.#write();
  }

  /** From now on there, in place of what another process may have left; then the place before is emptied. Undefined: nowhere. */
  async moveTo(path: string | undefined): Promise<void> {
    await this.settled();
    const before = this.#path;
    if (path === before) return;
    this.#path = path;
    this.#written = undefined;
    this.#writing ??= this.#write();
    await this.settled();
    if (before !== undefined) await forgetKept(before);
  }

  get isEmpty(): boolean {
    return isNothing(this.#wanted);
  }

  /** When everything that was put is on disk. */
  async settled(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  async #write(): Promise<void> {
    while (this.#wanted !== this.#written) {
      const next = this.#wanted;
      await written(this.#path, next).catch(() => undefined);
      this.#written = next;
    }
    this.#writing = undefined;
  }
}

async function written(path: string | undefined, kept: Kept): Promise<void> {
  if (path === undefined) return;
  if (isNothing(kept)) return await forgetKept(path);
  await makeFolder(dirname(path));
  const content: KeptFile = { messages: [...kept.messages], draft: kept.draft, pid: process.pid };
  await replaceFile({ path, data: Buffer.from(JSON.stringify(content)), sync: "unsynced" });
}

/** Must not reject. */
export const forgetKept = (path: string): Promise<void> => rm(path, { force: true }).catch(() => undefined);

export const isNothing = ({ messages, draft }: Kept): boolean => messages.length === 0 && draft === "";

/** What an earlier process left there. */
export async function keptAt(path: string): Promise<KeptFile> {
  const nothing = { messages: [], draft: "" };
  try {
    if ((await stat(path)).size > keptInputBytesMax) return nothing;
    return shape.safeParse(parsedOrUndefined(await readFile(path, "utf8"))).data ?? nothing;
  } catch {
    // Mostly it is not there; what can't be read can't be given back either.
    return nothing;
  }
}

/** Without what has reached the log after all: the process may have been killed between the two writes. */
export function notYetSaid(kept: Kept, entries: readonly Entry[]): Kept {
  const { messages } = kept;
  const [first] = messages;
  if (first === undefined) return kept;
  const left = [...messages];
  for (const entry of entries) {
    const said = saidText(entry);
    const at = millis(Date.parse(entry.timestamp ?? ""));
    if (said === undefined || !(at >= first.at)) continue;
    const place = left.findIndex((one) => one.text.trim() === said && at >= one.at);
    if (place !== -1) left.splice(place, 1);
  }
  return { ...kept, messages: left };
}
