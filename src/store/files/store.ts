import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import type { Store } from "../../ports/store.ts";
import type { Durability } from "../../ports/transcripts.ts";
import { millis } from "../../schema/brand.ts";
import { fileBlobs } from "./blobs.ts";
import { homeFolder } from "./home-folder.ts";
import { locateProject } from "./project.ts";
import { fileTranscripts } from "./transcripts.ts";

export interface FileStoreOptions {
  /** Where the sessions lie. Absent: where the command `palimpsest` keeps those of the current folder's project. */
  readonly folder?: string;
  /** When bytes are synced to the disk: at each entry (the default), at the end of a turn, or when the system does it. */
  readonly durability?: Durability;
}

/** Sessions as files that people can read: JSON lines, one file each. */
export function fileStore({ folder, durability = "always" }: FileStoreOptions = {}): Store {
  const deps = { now: () => millis(Date.now()), uuid: randomUUID };
  return {
    open: async () => {
      const located =
        folder === undefined
          ? await locateProject(deps, { home: homeFolder(process.env), cwd: process.cwd() })
          : ({ kind: "located", folder: resolve(folder) } as const);
      if (located.kind === "failed") return located;
      return {
        kind: "open",
        transcripts: fileTranscripts({ deps, folder: located.folder, durability }),
        blobs: fileBlobs({ folder: located.folder, durability }),
      };
    },
  };
}
