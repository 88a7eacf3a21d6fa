import { readFile, rm, stat, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { type Millis, millis, type SessionId } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { tryParseJson } from "palimpsest/internal/schema/json";
import { makeFolder, replaceFile } from "palimpsest/internal/store/files/disk";
import { userText } from "palimpsest/internal/transcript/user-text";
import { unsentInputBytesMax } from "./limits.ts";
import type { SessionListDep } from "palimpsest/internal/ports/store";
import { lookAtProcess } from "palimpsest/internal/store/files/look-at-process";

/** What the user typed and the log does not hold yet. */
export interface UnsentInput {
  /** Sent and queued, oldest first. */
  readonly messages: readonly UnsentMessage[];
  /** The text in the editor. */
  readonly draft: string;
}

export interface UnsentMessage {
  readonly text: string;
  /** When it was sent. */
  readonly at: number;
}

export interface UnsentInputNow {
  readonly texts: readonly string[];
  readonly draft: string;
  readonly at: Millis;
}

const unsentFileShape = z.object({
  messages: z.array(z.object({ text: z.string(), at: z.number() })),
  draft: z.string(),
  /** The process that stores it: as long as it runs, no other process takes the input. */
  pid: z.int().optional(),
});

/** As it is stored on disk. */
export type UnsentInputFile = z.infer<typeof unsentFileShape>;

const noInput: UnsentInput = { messages: [], draft: "" };

const unsentFileName = "input.json";

/** Next to the session's notes. `folder`: the project's. */
export const unsentInputPath = (folder: string, session: SessionId): string => join(folder, session, unsentFileName);

/**
 * Stores what would be lost if the process were killed now, in one place at a time: in a file of its own before a
 * session is open and between two sessions, else next to the session's log. Writes follow each other, the newest state
 * last; states in between are skipped. Never fails a chat: if the disk refuses, the log will report it as well.
 */
export class UnsentInputStore {
  #path: string | undefined;
  #latest: UnsentInput = noInput;
  #written: UnsentInput | undefined = noInput;
  #writing: Promise<void> | undefined;

  put({ texts, draft, at }: UnsentInputNow): void {
    // A message sent twice keeps its first time: what matters is that the log holds nothing of it from before.
    const known = this.#latest.messages;
    if (
      draft === this.#latest.draft &&
      isDeepStrictEqual(
        texts,
        known.map(({ text }) => text),
      )
    )
      return;
    this.#latest = {
      messages: texts.map((text) => known.find((message) => message.text === text) ?? { text, at }),
      draft,
    };
    this.#writing ??= this.#write();
  }

  /**
   * Stores there from now on, replacing what another process may have left; then the previous place is emptied.
   * Undefined: nowhere.
   */
  async moveTo(path: string | undefined): Promise<void> {
    await this.settled();
    const before = this.#path;
    if (path === before) return;
    this.#path = path;
    this.#written = undefined;
    this.#writing ??= this.#write();
    await this.settled();
    if (before !== undefined) await removeUnsentFile(before);
  }

  get isEmpty(): boolean {
    return isEmptyInput(this.#latest);
  }

  /** Resolves when everything is on disk. */
  async settled(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  async #write(): Promise<void> {
    while (this.#latest !== this.#written) {
      const next = this.#latest;
      await writeUnsent(this.#path, next).catch(() => undefined);
      this.#written = next;
    }
    this.#writing = undefined;
  }
}

async function writeUnsent(path: string | undefined, input: UnsentInput): Promise<void> {
  if (path === undefined) return;
  if (isEmptyInput(input)) return await removeUnsentFile(path);
  await makeFolder(dirname(path));
  const content: UnsentInputFile = { messages: [...input.messages], draft: input.draft, pid: process.pid };
  await replaceFile({ path, data: Buffer.from(JSON.stringify(content)), sync: "unsynced" });
}

/** Must not reject. */
const removeUnsentFile = (path: string): Promise<void> => rm(path, { force: true }).catch(() => undefined);

const isEmptyInput = ({ messages, draft }: UnsentInput): boolean => messages.length === 0 && draft === "";

/** What an earlier process left there. */
export async function readUnsentInput(path: string): Promise<UnsentInputFile> {
  const nothing = { messages: [], draft: "" };
  try {
    if ((await stat(path)).size > unsentInputBytesMax) return nothing;
    return unsentFileShape.safeParse(tryParseJson(await readFile(path, "utf8"))).data ?? nothing;
  } catch {
    // Usually there is no file; one that can't be read can't be given back either.
    return nothing;
  }
}

/** Without what has reached the log after all: the process may have been killed between the two writes. */
export function dropLogged(input: UnsentInput, entries: readonly Entry[]): UnsentInput {
  const { messages } = input;
  const [first] = messages;
  if (first === undefined) return input;
  const remaining = [...messages];
  for (const entry of entries) {
    const text = userText(entry);
    const at = millis(Date.parse(entry.timestamp ?? ""));
    if (text === undefined || !(at >= first.at)) continue;
    const index = remaining.findIndex((message) => message.text.trim() === text && at >= message.at);
    if (index !== -1) remaining.splice(index, 1);
  }
  return { ...input, messages: remaining };
}

/** Typed input that belongs to no session worth resuming. */
export interface AbandonedInput extends UnsentInput {
  /** Call it once the input is stored elsewhere. Must not reject. */
  readonly forget: () => Promise<void>;
}

export interface AbandonedInputDeps extends SessionListDep {
  /** The project's folder. */
  readonly folder: string;
  /** The open session: the input next to it is its own. */
  readonly current?: SessionId;
}

/** The folder for input that has no session yet. */
const sessionlessFolder = "typed";

export const sessionlessPath = (folder: string, name: string): string =>
  join(folder, sessionlessFolder, `${name}.json`);

/** The newest: from a chat that was left before its session was open, or in which nothing was said. */
export async function findAbandonedInput({
  folder,
  sessions,
  current,
}: AbandonedInputDeps): Promise<AbandonedInput | undefined> {
  const sessionless = (await namesIn(join(folder, sessionlessFolder)))
    .filter((name) => name.endsWith(".json"))
    .map((name) => join(folder, sessionlessFolder, name));
  const otherSessions = (await namesIn(folder)).filter((name) => name !== current);
  const paths = await newestFirst([
    ...sessionless,
    ...(await inputOfSilentSessions({ folder, sessions, names: otherSessions })),
  ]);
  for (const path of paths) {
    const input = await readUnsentInput(path);
    if (!isEmptyInput(input) && !(await isHeldByOther(input.pid)))
      return { ...input, forget: () => removeUnsentFile(path) };
  }
  return undefined;
}

interface SilentSessionsInput extends SessionListDep {
  readonly folder: string;
  readonly names: readonly string[];
}

/** Input of sessions without a message. The others give it back when they are resumed. */
async function inputOfSilentSessions({ folder, sessions, names }: SilentSessionsInput): Promise<readonly string[]> {
  const withInput = await Promise.all(
    names.map(async (name) => ((await namesIn(join(folder, name))).includes(unsentFileName) ? [name] : [])),
  );
  const candidates = withInput.flat();
  if (candidates.length === 0) return [];
  const listed = await sessions.list();
  const withMessages = new Set<string>(
    listed.flatMap(({ messageCount, sessionId }) => (messageCount === 0 ? [] : [sessionId])),
  );
  return candidates.filter((name) => !withMessages.has(name)).map((name) => join(folder, name, unsentFileName));
}

const namesIn = (folder: string): Promise<readonly string[]> => readdir(folder).catch(() => []);

async function newestFirst(paths: readonly string[]): Promise<readonly string[]> {
  const dated = await Promise.all(
    paths.map(async (path) => ({ path, at: (await stat(path).catch(() => undefined))?.mtimeMs ?? 0 })),
  );
  return dated.toSorted((one, other) => other.at - one.at).map(({ path }) => path);
}

/** A chat in another window may still own it. */
const isHeldByOther = async (pid: number | undefined): Promise<boolean> =>
  pid !== undefined && pid !== process.pid && (await lookAtProcess(pid)).kind === "alive";
