import { join } from "node:path";
import { memoryStore } from "../../packages/palimpsest/src/index.ts";
import { filePorts } from "../../packages/palimpsest/src/store/files/store.ts";
import { sessionDeletionContract } from "./session-deletion.ts";
import { storeDeps } from "./store-deps.ts";
import { temporaryFolder } from "./temporary-folder.ts";

sessionDeletionContract({
  name: "files",
  make: async () =>
    filePorts({ deps: storeDeps, folder: join(await temporaryFolder(), "projects", "p"), durability: "never" }),
});

sessionDeletionContract({
  name: "memory",
  make: async () => {
    const opened = await memoryStore().open();
    if (opened.kind === "failed") throw new Error(opened.message);
    const { transcripts, blobs, sessions, deletion, garbage } = opened;
    if (sessions === undefined || deletion === undefined || garbage === undefined) throw new Error("no such port");
    return { transcripts, blobs, sessions, deletion, garbage };
  },
});
