import type { EntryId } from "../schema/brand.ts";
import type { Session } from "./session.ts";

type ReadSession = Pick<Session, "fold" | "read" | "readWhole">;

/** Is the entry on the path? Also looks before the boundary that the fold begins with. */
export async function isOnPath(session: ReadSession, entry: EntryId): Promise<boolean> {
  if (session.fold.path.has(entry)) return true;
  return session.read.from === "boundary" && (await session.readWhole())?.fold.path.has(entry) === true;
}

/** From now on the session holds its whole path in memory, until a boundary or a change of branch. */
export async function loadWholePath(session: ReadSession & Pick<Session, "adoptLog">): Promise<void> {
  const whole = session.read.from === "boundary" ? await session.readWhole() : undefined;
  if (whole !== undefined) session.adoptLog(whole);
}
