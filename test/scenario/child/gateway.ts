/** A gateway over a folder, for tests that kill it. It is told what to do, and tells what happened, by messages. */
import { join } from "node:path";
import { Conversations } from "../../../packages/gateway/src/conversation/conversations.ts";
import { ConversationLog } from "../../../packages/gateway/src/conversation/conversation-log.ts";
import { HistoryLog } from "../../../packages/gateway/src/conversation/history/history-log.ts";
import { contextExchange } from "../../../packages/gateway/src/exchange/context-exchange.ts";
import { serveGateway } from "../../../packages/gateway/src/http/serve-gateway.ts";
import { fileStore } from "../../../packages/palimpsest/src/store/files/store.ts";
import type { GatewayOrder, GatewayReport } from "../support/gateway-process.ts";
import { faultyStore } from "../support/faulty-store.ts";

/** Nobody may be left to hear it. */
const report = (message: GatewayReport): void => void process.send?.(message, undefined, undefined, () => undefined);
let close = async (): Promise<void> => undefined;
let store: ReturnType<typeof faultyStore> | undefined;

async function open({ folder, upstream, contextTokens }: Extract<GatewayOrder, { kind: "open" }>): Promise<void> {
  const faulty = faultyStore(fileStore({ folder: join(folder, "sessions"), durability: "never" }), (fault) =>
    report({ kind: "struck", fault }),
  );
  const conversations = new Conversations({
    log: await ConversationLog.open(join(folder, "conversations.jsonl")),
    openStore: () => faulty,
    now: Date.now,
    reduction: () => ({
      recall: "on",
      memory: "off",
      deferTools: "off",
      cacheMarks: "client",
      contextTokens: () => contextTokens,
    }),
  });
  const gateway = await serveGateway({
    config: {
      upstream: { anthropic: upstream, openai: upstream },
      host: "127.0.0.1",
      port: 0,
      names: [],
      origins: [],
      insecure: false,
      users: [],
      drainSeconds: 0,
      context: {},
    },
    onEvent: (event) => {
      if (event.kind === "failed-open" || event.kind === "bug") report(event);
    },
    createExchange: (deps) =>
      contextExchange({
        ...deps,
        conversations,
        historyLog: new HistoryLog(() => join(folder, "histories.jsonl")),
        options: () => ({ summarizer: "none", usage: "used", threads: "keep" }),
      }),
  });
  if (gateway.kind === "failed") throw new Error(gateway.message);
  store = faulty;
  close = async () => {
    await gateway.close();
    await conversations.close();
  };
  report({ kind: "open", url: gateway.url });
}

process.on("message", (order: GatewayOrder) => {
  if (order.kind === "open") void open(order);
  else if (order.kind === "store") store?.fail(order.fault);
  else void close().then(() => report({ kind: "closed" }));
});
process.on("disconnect", () => process.exit());
report({ kind: "ready" });
