import { fileBlobs } from "../../src/store/files/blobs.ts";
import { memoryBlobs } from "../../src/store/memory/blobs.ts";
import { blobsContract } from "./blobs.ts";
import { temporaryFolder } from "./temporary-folder.ts";

blobsContract({ name: "files", make: async () => fileBlobs({ folder: await temporaryFolder(), durability: "turn" }) });
blobsContract({ name: "memory", make: async () => memoryBlobs() });
