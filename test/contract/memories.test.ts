import { join } from "node:path";
import { fileMemories } from "../../packages/palimpsest/src/store/files/file-memories.ts";
import { memoryMemories } from "../../packages/palimpsest/src/store/memory/memory-memories.ts";
import { memoriesContract } from "./memories.ts";
import { storeDeps } from "./store-deps.ts";
import { temporaryFolder } from "./temporary-folder.ts";

memoriesContract({
  name: "files",
  make: async () => fileMemories({ deps: storeDeps, folder: join(await temporaryFolder(), "memory") }),
});
memoriesContract({ name: "memory", make: async () => memoryMemories({ deps: storeDeps }) });
