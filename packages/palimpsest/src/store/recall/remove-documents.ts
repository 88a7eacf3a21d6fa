import { numberIn, type RecallDatabase } from "./database.ts";
import { leaseWaitMs, mergedPagesMax, positionsMax, removedPassagesMax } from "./limits.ts";

/**
 * Takes documents out of the index in small transactions, between which other things run.
 *
 *   indexed ──forgetDocuments──▶ marked ──slices──▶ no text, not found ──merges──▶ none of its words on the disk
 *
 * A process that is killed leaves the mark, and the next one that catches up goes on.
 */
export async function forgetDocuments(database: RecallDatabase, ids: readonly number[]): Promise<void> {
  await transact(database, () => {
    if (ids.length > 0) database.run("insert or ignore into marks (name) values ('erase')");
    // If one is still listed, it counts as new.
    for (const id of ids) database.run("update documents set version = '', mark = '' where id = ?", id);
  });
  await removeDocuments(database, ids);
  if (hasWordsToErase(database)) await eraseWords(database);
}

/** With everything that was written of them; their words stay in the index's files, found by no search, until it merges. */
export async function removeDocuments(database: RecallDatabase, ids: readonly number[]): Promise<void> {
  for (const id of ids) {
    const passages = numberIn(database.row("select passages from documents where id = ?", id), "passages");
    const first = id * positionsMax;
    for (let at = 0; at < passages; at += removedPassagesMax) {
      await transact(database, () => removeRange(database, [first + at, first + at + removedPassagesMax - 1]));
      await pause();
    }
    await transact(database, () => {
      // Another process may have written to it meanwhile.
      removeRange(database, [first, first + positionsMax - 1]);
      database.run("delete from documents where id = ?", id);
    });
  }
}

function removeRange(database: RecallDatabase, range: readonly [number, number]): void {
  database.run("delete from words where rowid between ? and ?", ...range);
  database.run("delete from texts where id between ? and ?", ...range);
  database.run("delete from chunks where id between ? and ?", ...range);
}

export const hasWordsToErase = (database: RecallDatabase): boolean =>
  database.row("select name from marks where name = 'erase'") !== undefined;

/** Merges all segments of the index into one, which leaves removed words out. Stops early if the signal says so. */
export async function eraseWords(database: RecallDatabase, signal?: AbortSignal): Promise<void> {
  // A negative number of pages starts the merge, a positive one goes on with it.
  for (let pages = -mergedPagesMax; signal?.aborted !== true; pages = mergedPagesMax) {
    const changes = await transact(database, () => {
      const before = database.totalChanges();
      database.run("insert into words (words, rank) values ('merge', ?)", pages);
      return database.totalChanges() - before;
    });
    // SQLite: fewer than two changes mean that nothing is left to merge.
    if (changes < 2) {
      await transact(database, () => database.run("delete from marks where name = 'erase'"));
      database.emptyLog();
      return;
    }
    await pause();
  }
}

/** Waits while another process writes: its transactions are short. */
export async function transact<Result>(database: RecallDatabase, write: () => Result): Promise<Result> {
  for (;;) {
    const result = database.transact(() => ({ value: write() }));
    if (result !== "busy") return result.value;
    await pause(leaseWaitMs);
  }
}

/** Lets other work of the process run. */
export const pause = (milliseconds?: number): Promise<void> =>
  new Promise((resolve) => {
    if (milliseconds === undefined && typeof setImmediate === "function") setImmediate(resolve);
    else setTimeout(resolve, milliseconds ?? 0);
  });
