import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { tuneHeap } from "../../packages/gateway/src/body/body-memory.ts";
import { openGateway } from "../../packages/gateway/src/open-gateway.ts";
import { answerParent } from "./answer-parent.ts";

/** The gateway with files, recall and recording, as `palimpsest gateway` opens it. Arguments: upstream, window. */
const [upstream = "", windowTokens = ""] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "palimpsest-bench-gateway-"));
let failures = 0;
tuneHeap();
const gateway = await openGateway({
  home: join(folder, "home"),
  cwd: folder,
  config: {
    upstream: { anthropic: upstream },
    host: "127.0.0.1",
    port: 0,
    names: [],
    origins: [],
    tls: undefined,
    insecure: false,
    users: [],
    drainSeconds: 0,
    log: undefined,
    context: windowTokens === "" ? {} : { contextTokens: Number(windowTokens) },
  },
  onEvent: (event) => {
    if (event.kind !== "bug" && event.kind !== "failed-open") return;
    failures += 1;
    if (failures === 1) console.error(event);
  },
});
if (gateway.kind === "failed") throw new Error(gateway.message);
answerParent({
  first: { url: gateway.url },
  answer: () => Promise.resolve({ failures }),
  close: async () => {
    await gateway.close();
    rmSync(folder, { recursive: true, force: true });
  },
});
