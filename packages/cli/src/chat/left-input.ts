import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import type { SessionListDep } from "palimpsest/internal/ports/session-list";
import type { SessionId } from "palimpsest/internal/schema/brand";
import { lookAtProcess } from "palimpsest/internal/store/files/look-at-process";
import { forgetKept, isNothing, type Kept, keptAt, keptFileName } from "./kept-input.ts";

/** What was typed and belongs to no session that anybody would go on with. */
export interface LeftInput extends Kept {
  /** Once it is somewhere else. Must not reject. */
  readonly forget: () => Promise<void>;
}

export interface LeftInputWhere extends SessionListDep {
  /** The project's. */
  readonly folder: string;
  /** That is open now: what lies beside it is its own. */
  readonly current?: SessionId;
}

/** Where input is kept that no session has yet. */
const passingFolder = "typed";

export const passingPath = (folder: string, name: string): string => join(folder, passingFolder, `${name}.json`);

/** The newest: of a chat that was left before its session was open, or in which nothing was said. */
export async function leftInput({ folder, sessions, current }: LeftInputWhere): Promise<LeftInput | undefined> {
  const passing = (await namesIn(join(folder, passingFolder)))
    .filter((name) => name.endsWith(".json"))
    .map((name) => join(folder, passingFolder, name));
  const beside = (await namesIn(folder)).filter((name) => name !== current);
  const found = await newestFirst([...passing, ...(await withoutWords({ folder, sessions, names: beside }))]);
  for (const path of found) {
    const kept = await keptAt(path);
    if (!isNothing(kept) && !(await isAnothers(kept.pid))) return { ...kept, forget: () => forgetKept(path) };
  }
  return undefined;
}

interface Beside extends SessionListDep {
  readonly folder: string;
  readonly names: readonly string[];
}

/** Of sessions in which nothing was said. The others give it back when they are gone on with. */
async function withoutWords({ folder, sessions, names }: Beside): Promise<readonly string[]> {
  const kept = await Promise.all(
    names.map(async (name) => ((await namesIn(join(folder, name))).includes(keptFileName) ? [name] : [])),
  );
  const candidates = kept.flat();
  if (candidates.length === 0) return [];
  const listed = await sessions.list();
  const spoken = new Set<string>(listed.flatMap((one) => (one.messageCount === 0 ? [] : [one.sessionId])));
  return candidates.filter((name) => !spoken.has(name)).map((name) => join(folder, name, keptFileName));
}

const namesIn = (folder: string): Promise<readonly string[]> => readdir(folder).catch(() => []);

async function newestFirst(paths: readonly string[]): Promise<readonly string[]> {
  const dated = await Promise.all(
    paths.map(async (path) => ({ path, at: (await stat(path).catch(() => undefined))?.mtimeMs ?? 0 })),
  );
  return dated.toSorted((one, other) => other.at - one.at).map(({ path }) => path);
}

/** A chat in another window may still have it. */
const isAnothers = async (pid: number | undefined): Promise<boolean> =>
  pid !== undefined && pid !== process.pid && (await lookAtProcess(pid)).kind === "alive";
