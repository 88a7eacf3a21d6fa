import { mapStore } from "../../examples/map-store.ts";
import { fileBlobs } from "../../packages/palimpsest/src/store/files/file-blobs.ts";
import { memoryBlobs } from "../../packages/palimpsest/src/store/memory/memory-blobs.ts";
import { blobsContract } from "./blobs.ts";
import { temporaryFolder } from "./temporary-folder.ts";

blobsContract({ name: "files", make: async () => fileBlobs({ folder: await temporaryFolder(), durability: "turn" }) });
blobsContract({
  name: "a map outside of the engine",
  make: async () => {
    const store = await mapStore().open();
    if (store.kind === "failed") throw new Error(store.message);
    return store.blobs;
  },
});
blobsContract({ name: "memory", make: async () => memoryBlobs() });
