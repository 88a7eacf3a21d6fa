import { closeSync, constants, openSync, rmSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { ClockDep, IdsDep } from "../../ports/clock-dep.ts";
import type { RecallIndexes } from "../../ports/recall-index.ts";
import { errorCode, fileMode, makeFolder, writeFailure } from "./disk.ts";

/** The index of a project, beside its sessions. It can be deleted at any time. */
export const recallIndexPath = (folder: string): string => join(folder, "recall.db");

/** What SQLite keeps beside a database. */
const companions = ["-wal", "-shm"] as const;

/** Nothing of SQLite is loaded before the index is opened. */
export function fileRecall({
  deps,
  folder,
}: {
  readonly deps: ClockDep & IdsDep;
  readonly folder: string;
}): RecallIndexes {
  const path = recallIndexPath(folder);
  const files = [path, ...companions.map((suffix) => path + suffix)];
  return {
    exists: () =>
      stat(path).then(
        () => true,
        () => false,
      ),
    open: async (options) => {
      try {
        await makeFolder(folder);
        createPrivate(path);
        const { openRecallIndex } = await import("../recall/open-index.ts");
        const remove = (): void => {
          for (const file of files) rmSync(file, { force: true });
          createPrivate(path);
        };
        const sizeBytes = async (): Promise<number> => {
          const sizes = await Promise.all(
            files.map((file) =>
              stat(file).then(
                ({ size }) => size,
                () => 0,
              ),
            ),
          );
          return sizes.reduce((sum, size) => sum + size, 0);
        };
        return await openRecallIndex(deps, { place: { path, remove, sizeBytes }, options });
      } catch (error) {
        return writeFailure(error, path);
      }
    },
  };
}

/** SQLite would create the file readable for everyone; its companions get the rights of the file. A link is refused. */
function createPrivate(path: string): void {
  try {
    closeSync(openSync(path, constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0), fileMode));
  } catch (error) {
    if (errorCode(error) !== "EROFS") throw error;
  }
}
