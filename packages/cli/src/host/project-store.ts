import { createHash, randomUUID } from "node:crypto";
import { basename } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { GarbageDep } from "palimpsest/internal/ports/garbage-store";
import type { MemoriesDep } from "palimpsest/internal/ports/memories";
import type { RecallIndexes } from "palimpsest/internal/ports/recall-index";
import type { SessionDeletionDep } from "palimpsest/internal/ports/session-deletion";
import type { SessionFiles } from "palimpsest/internal/ports/session-files";
import type { LeasesDep, SessionListDep, StorePorts } from "palimpsest/internal/ports/store";
import { blobId, millis, sessionId, uuidFromHash } from "palimpsest/internal/schema/brand";
import type { AdoptOnceDeps } from "palimpsest/internal/session/adopt-once";
import type { SessionRemover } from "palimpsest/internal/session/delete-sessions";
import { mailRemover } from "palimpsest/internal/session/mail-remover";
import type { HashDep } from "palimpsest/internal/session/session-origin";
import {
  type FilePorts,
  filePorts,
  type FilePortsOptions,
  type FileSessionList,
} from "palimpsest/internal/store/files/store";
import { gatewayRemover } from "./gateway/gateway-remover.ts";
import { forgetInIndex } from "palimpsest/internal/store/recall/forget-in-index";

/** What is stored for one project. */
export interface ProjectStore
  extends
    AdoptOnceDeps,
    SessionListDep,
    LeasesDep,
    SessionFiles,
    SessionDeletionDep,
    GarbageDep,
    MemoriesDep,
    Pick<StorePorts, "recall" | "spend" | "dreams" | "agentsOf" | "mailboxes" | "taskLists"> {
  readonly sessions: FileSessionList;
  /** What removes everything that was derived from a session, in their order. */
  readonly removers: readonly SessionRemover[];
}

export type FileProjectStore = AdoptOnceDeps & FilePorts & Pick<ProjectStore, "removers">;

interface ProjectStoreOptions extends Pick<FilePortsOptions, "durability" | "scanner" | "mailFolder"> {
  readonly home: string;
}

export function openProjectStore(
  folder: string,
  { home, durability, scanner, mailFolder }: ProjectStoreOptions,
): FileProjectStore {
  const base = { now: () => millis(Date.now()), uuid: randomUUID };
  const ports = filePorts({ deps: base, folder, durability, scanner, mailFolder });
  return {
    ...base,
    sha256,
    // Includes the project's name: sessions are found across projects, and several may have adopted the same file.
    sessionOf: (source) => sessionId(uuidFromHash(sha256Hex(`${basename(folder)}\n${source}`))),
    wait,
    ...ports,
    removers: [recallRemover(ports.recall), mailRemover(ports), gatewayRemover(home)],
  };
}

/** Takes deleted sessions out of the index at once; the next look at the sources would do the same. */
const recallRemover = (recall: RecallIndexes): SessionRemover => ({
  name: "recall",
  describe: () => Promise.resolve(undefined),
  remove: (sessions) => forgetInIndex(recall, sessions),
});

export const sha256: HashDep = () => {
  const hash = createHash("sha256");
  return { update: (chunk) => void hash.update(chunk), digest: () => blobId(hash.digest("hex")) };
};

export const sha256Hex = (text: string): string => createHash("sha256").update(text).digest("hex");
