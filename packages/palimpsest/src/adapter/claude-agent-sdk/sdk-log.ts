import { setTimeout as wait } from "node:timers/promises";
import { ContextError, storeError } from "../../context/context-error.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { ByteSource, Transcripts, TranscriptWriter } from "../../ports/transcripts.ts";
import type { SessionId } from "../../schema/brand.ts";
import { readEdit } from "../../schema/edit.ts";
import { isObject, type JsonObject, textField, tryParseJson } from "../../schema/json.ts";
import { withSource } from "../../session/counted-log.ts";
import { checkLineSize, newline, scanLines } from "../../session/scan-lines.ts";
import { appendRetryMs, appendWaitMs, ownerBytesMax } from "./limits.ts";
import type { SdkEntry, SdkSessionKey } from "./sdk-types.ts";

/** The type of the first line of a transcript that the SDK writes. It says whose transcript it is. */
const ownerType = "agent-sdk-session";

/** A transcript and its place in the store. */
export interface SdkLogPlace {
  readonly transcripts: Transcripts;
  readonly id: SessionId;
  readonly key: SdkSessionKey;
}

/**
 * One transcript of the SDK. Each append opens the log and closes it again, so that other processes may write to it, and no
 * lock is left when the process ends; the SDK does not tell a store when it is done.
 */
export class SdkLog {
  readonly #deps: ClockDep;
  readonly #place: SdkLogPlace;
  readonly #uuids = new Set<string>();
  /** Up to here the log's ids are in `#uuids`: the log only grows. */
  #readUntil = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: ClockDep, place: SdkLogPlace) {
    this.#deps = deps;
    this.#place = place;
  }

  /** In the order of the calls. An entry whose `uuid` is in the log already is not written again. Rejects if one can't be written. */
  append(entries: readonly SdkEntry[]): Promise<void> {
    const appended = this.#last.then(() => this.#append(entries));
    this.#last = appended.catch(() => undefined);
    return appended;
  }

  /** Resolves when everything that was appended so far is stored or has failed. */
  async settled(): Promise<void> {
    await this.#last;
  }

  async #append(entries: readonly SdkEntry[]): Promise<void> {
    const writer = await this.#open();
    let isWritten = false;
    try {
      const first = (await this.#catchUp()) === "empty" ? [this.#ownerLine()] : [];
      const outcome = await writer.append([...first, ...this.#newLines(entries)]);
      if (outcome.kind === "failed") throw storeError(outcome);
      isWritten = true;
    } finally {
      await (isWritten ? writer.close() : writer.discard());
    }
  }

  async #open(): Promise<TranscriptWriter> {
    const { transcripts, id } = this.#place;
    for (const until = this.#deps.now() + appendWaitMs; ;) {
      const opened = await transcripts.openForWriting(id);
      if (opened.kind === "open") return opened.writer;
      const created = opened.kind === "missing" ? await transcripts.create(id) : opened;
      if (created.kind === "open") return created.writer;
      if (created.kind === "failed") throw storeError(created);
      if (this.#deps.now() > until)
        throw new ContextError("busy", `The session ${id} is open elsewhere: ${describe(created)}.`);
      await wait(appendRetryMs);
    }
  }

  /** Reads the ids of what was written since the last append, by this process or another. `empty`: the log has no line yet. */
  async #catchUp(): Promise<"empty" | "begun"> {
    const { id, key } = this.#place;
    const state = await withSource(this.#place, id, async (source) => {
      // It was deleted and begun again.
      if (source.size < this.#readUntil) {
        this.#uuids.clear();
        this.#readUntil = 0;
      }
      const owner = await readOwner(source);
      if (owner === "empty") return owner;
      if (!isOwner(owner, key))
        throw new ContextError("busy", `The session ${id} was not written by this project of the SDK.`);
      for await (const line of jsonLines(source, this.#readUntil)) {
        const uuid = textField(line, "uuid");
        if (uuid !== undefined) this.#uuids.add(uuid);
      }
      this.#readUntil = source.size;
      return "begun";
    });
    return state ?? "empty";
  }

  #newLines(entries: readonly SdkEntry[]): readonly string[] {
    const inBatch = new Set<string>();
    return entries.flatMap((entry) => {
      const { uuid } = entry;
      if (uuid !== undefined && (this.#uuids.has(uuid) || inBatch.has(uuid))) return [];
      if (uuid !== undefined) inBatch.add(uuid);
      const line = JSON.stringify(entry);
      const tooLarge = checkLineSize(line);
      if (tooLarge !== undefined) throw storeError(tooLarge);
      return [line];
    });
  }

  #ownerLine(): string {
    const { projectKey, sessionId, subpath } = this.#place.key;
    const timestamp = new Date(this.#deps.now()).toISOString();
    const owner = { type: ownerType, sessionId, projectKey, timestamp };
    return JSON.stringify(subpath === undefined ? owner : { ...owner, subpath });
  }
}

const describe = (outcome: { readonly kind: string; readonly holder?: string }): string =>
  outcome.holder ?? "it is being created";

/**
 * What the SDK appended, as it was and in its order. Undefined if the SDK never wrote this transcript. Edits that
 * palimpsest's own commands appended, such as a pin, are not the SDK's and left out.
 */
export async function readSdkEntries({ transcripts, id, key }: SdkLogPlace): Promise<SdkEntry[] | undefined> {
  const entries = await withSource({ transcripts }, id, async (source) => {
    if (!isOwner(await readOwner(source), key)) return [];
    const read: SdkEntry[] = [];
    for await (const line of jsonLines(source, 0)) {
      const type = textField(line, "type");
      if (type !== undefined && type !== ownerType && !isOwnEdit(line)) read.push({ ...line, type });
    }
    return read;
  });
  return entries === undefined || entries.length === 0 ? undefined : entries;
}

/** A boundary is of the ecosystem's format. */
const isOwnEdit = (line: JsonObject): boolean => line["type"] !== "system" && readEdit(line).kind === "edit";

type SdkLogOwner = Omit<SdkSessionKey, "sessionId">;

/** Whose transcript it is, by its first line that is whole. `foreign`: not the SDK's. `empty`: it has none yet. */
export async function readOwner(source: ByteSource): Promise<SdkLogOwner | "foreign" | "empty"> {
  const head = await source.read({ start: 0, end: Math.min(ownerBytesMax, source.size) });
  const end = head.lastIndexOf(newline) + 1;
  const [line] = readJsonLines(head.subarray(0, end));
  if (line === undefined) return source.size > ownerBytesMax ? "foreign" : "empty";
  const projectKey = line["type"] === ownerType ? textField(line, "projectKey") : undefined;
  return projectKey === undefined ? "foreign" : { projectKey, subpath: textField(line, "subpath") };
}

const isOwner = (owner: SdkLogOwner | "foreign" | "empty", key: SdkSessionKey): boolean =>
  typeof owner === "object" && owner.projectKey === key.projectKey && owner.subpath === key.subpath;

async function* jsonLines(source: ByteSource, from: number): AsyncGenerator<JsonObject> {
  for await (const lines of scanLines(source, { from })) if (lines.kind === "lines") yield* readJsonLines(lines.bytes);
}

/** A line that a kill cut off is no JSON, and skipped. */
const readJsonLines = (lines: Uint8Array): readonly JsonObject[] =>
  decoder
    .decode(lines)
    .split("\n")
    .map(tryParseJson)
    .filter((line) => isObject(line));

const decoder = new TextDecoder();
