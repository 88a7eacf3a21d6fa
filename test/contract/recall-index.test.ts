import { createDefaultRanker } from "../../packages/palimpsest/src/recall/default-ranker.ts";
import { fileRecall } from "../../packages/palimpsest/src/store/files/file-recall.ts";
import { memoryRecall } from "../../packages/palimpsest/src/store/memory/memory-recall.ts";
import { recallIndexContract } from "./recall-index.ts";
import { storeDeps } from "./store-deps.ts";
import { temporaryFolder } from "./temporary-folder.ts";

recallIndexContract({
  name: "files",
  make: async () => fileRecall({ deps: storeDeps, folder: await temporaryFolder() }),
});

recallIndexContract({
  name: "memory, with the default ranker",
  make: async () => memoryRecall(storeDeps),
  ranker: createDefaultRanker(),
});
