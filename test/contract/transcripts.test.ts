import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mapStore } from "../../examples/map-store.ts";
import { fileTranscripts } from "../../packages/palimpsest/src/store/files/file-transcripts.ts";
import { memoryTranscripts } from "../../packages/palimpsest/src/store/memory/memory-transcripts.ts";
import { storeDeps } from "./store-deps.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { transcriptsContract } from "./transcripts.ts";

for (const durability of ["always", "never"] as const) {
  transcriptsContract({
    name: `files (${durability})`,
    make: async (seed) => {
      const folder = join(await temporaryFolder(), "projects", "p");
      await mkdir(folder, { recursive: true });
      for (const [id, data] of seed) await writeFile(join(folder, `${id}.jsonl`), data);
      return fileTranscripts({ deps: storeDeps, folder, durability });
    },
  });
}

transcriptsContract({
  name: "a map outside of the engine",
  make: async (seed) => {
    const store = await mapStore(new Map([...seed].map(([id, data]) => [`log/${id}`, data]))).open();
    if (store.kind === "failed") throw new Error(store.message);
    return store.transcripts;
  },
  skips: { tornLines: "an append is one set of the map", names: "a key leads nowhere" },
});

transcriptsContract({ name: "memory", make: async (seed) => memoryTranscripts({ deps: storeDeps, seed }) });
