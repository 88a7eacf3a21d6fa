import { mapStore } from "../../examples/map-store.ts";
import { fileStore, memoryStore } from "../../packages/palimpsest/src/index.ts";
import { storeContract } from "./store.ts";
import { temporaryFolder } from "./temporary-folder.ts";

storeContract({
  name: "files",
  make: async () => {
    const folder = await temporaryFolder();
    return () => fileStore({ folder });
  },
});

storeContract({
  name: "memory (one object: there is no second process)",
  make: async () => {
    const store = memoryStore();
    return () => store;
  },
});

storeContract({
  name: "a map outside of the engine",
  make: async () => {
    const kept = new Map<string, Uint8Array>();
    return () => mapStore(kept);
  },
});
