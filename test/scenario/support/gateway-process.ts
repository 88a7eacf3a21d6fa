import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { GatewayEvent } from "../../../packages/gateway/src/operate/gateway-event.ts";
import { compiledOnce, sourceFlag } from "./command-line.ts";
import type { StoreFault } from "./faulty-store.ts";

export type GatewayOrder =
  | {
      readonly kind: "open";
      readonly folder: string;
      readonly upstream: string;
      readonly contextTokens: number | undefined;
    }
  | { readonly kind: "store"; readonly fault: StoreFault }
  | { readonly kind: "close" };

export type GatewayReport =
  | { readonly kind: "ready" | "closed" }
  | { readonly kind: "open"; readonly url: string }
  /** A write met a fault of the store. */
  | { readonly kind: "struck"; readonly fault: StoreFault["kind"] }
  | Extract<GatewayEvent, { kind: "failed-open" | "bug" }>;

/** Gateways in processes of their own. The next one starts while this one works. */
export class GatewayProcesses {
  readonly events: Extract<GatewayReport, { kind: "failed-open" | "bug" | "struck" }>[] = [];
  #running = start();
  #spare = start();
  kills = 0;

  async open(order: Omit<Extract<GatewayOrder, { kind: "open" }>, "kind">): Promise<string> {
    const { child, ready } = this.#running;
    await ready;
    child.removeAllListeners("message");
    child.on("message", (report: GatewayReport) => {
      if (report.kind === "failed-open" || report.kind === "bug" || report.kind === "struck") this.events.push(report);
    });
    const opened = report(child, "open");
    child.send({ kind: "open", ...order });
    const { url } = await opened;
    return url;
  }

  fail(fault: StoreFault): void {
    this.#running.child.send({ kind: "store", fault });
  }

  async close(): Promise<void> {
    const { child } = this.#running;
    const closed = report(child, "closed");
    child.send({ kind: "close" });
    await closed;
  }

  /** `kill -9`, and the next one takes its place. */
  async kill(): Promise<void> {
    const { child } = this.#running;
    this.kills += 1;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
    this.#running = this.#spare;
    this.#spare = start();
  }

  end(): void {
    for (const { child } of [this.#running, this.#spare]) child.kill("SIGKILL");
  }
}

function start(): { readonly child: ChildProcess; readonly ready: Promise<unknown> } {
  const child = fork(join(import.meta.dirname, "../child/gateway.ts"), [], {
    execArgv: [sourceFlag],
    env: { ...process.env, ...compiledOnce },
  });
  const ready = report(child, "ready");
  // One that is never used may be ended before it is ready.
  ready.catch(() => undefined);
  return { child, ready };
}

const report = <Kind extends GatewayReport["kind"]>(
  child: ChildProcess,
  kind: Kind,
): Promise<Extract<GatewayReport, { kind: Kind }>> =>
  new Promise((resolve, reject) => {
    const take = (message: GatewayReport): void => {
      if (!isKind(message, kind)) return;
      child.off("message", take).off("exit", leave);
      resolve(message);
    };
    const leave = (code: number | null): void => reject(new Error(`the gateway ended: ${code}`));
    child.on("message", take).once("exit", leave);
  });

const isKind = <Kind extends GatewayReport["kind"]>(
  message: GatewayReport,
  kind: Kind,
): message is Extract<GatewayReport, { kind: Kind }> => message.kind === kind;
