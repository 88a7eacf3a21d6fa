import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { filePorts } from "../../packages/palimpsest/src/store/files/store.ts";
import { memoryTranscripts } from "../../packages/palimpsest/src/store/memory/memory-transcripts.ts";
import { sessionListContract } from "./session-list.ts";
import { storeDeps } from "./store-deps.ts";
import { temporaryFolder } from "./temporary-folder.ts";

sessionListContract({
  name: "files",
  make: async (seed) => {
    const folder = join(await temporaryFolder(), "projects", "p");
    await mkdir(folder, { recursive: true });
    for (const [id, data] of seed) await writeFile(join(folder, `${id}.jsonl`), data);
    return filePorts({ deps: storeDeps, folder, durability: "never" });
  },
});

sessionListContract({
  name: "memory",
  make: async (seed) => {
    const transcripts = memoryTranscripts({ deps: storeDeps, seed });
    return { transcripts, sessions: transcripts };
  },
});
