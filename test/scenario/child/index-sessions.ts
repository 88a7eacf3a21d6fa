import { maskSecrets } from "../../../packages/palimpsest/src/text/find-secrets.ts";
import { sessionSource } from "../../../packages/palimpsest/src/session/recall-sources.ts";
import { filePorts } from "../../../packages/palimpsest/src/store/files/store.ts";
import { storeDeps } from "../../contract/store-deps.ts";

/** Indexes the sessions of a folder. Says when it begins and how it ended. */
const [folder = ""] = process.argv.slice(2);
const ports = filePorts({ deps: storeDeps, folder, durability: "never" });
const opened = await ports.recall.open({ sources: [sessionSource(ports)], maskText: maskSecrets });
if (opened.kind !== "open") throw new Error(opened.kind);
process.stdout.write("begins\n");
const outcome = await opened.index.catchUp();
await opened.index.close();
process.stdout.write(`${JSON.stringify(outcome)}\n`);
