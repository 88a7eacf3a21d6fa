import { type Fault, parseFault } from "../../../packages/simulator/src/fault/fault.ts";
import type { Random } from "../../../packages/simulator/src/random.ts";
import { type Refusal, refusal } from "../../../packages/simulator/src/refusal.ts";
import type { StoreFault } from "./faulty-store.ts";
import type { ClientCut } from "./messages-client.ts";

/** What goes wrong in one try of a request. */
export type Trouble =
  | { readonly kind: "none" | "restart" }
  /** `nth`: which request of the try it strikes; the gateway may send several. */
  | { readonly kind: "upstream"; readonly fault: Fault; readonly nth: number }
  | { readonly kind: "refusal"; readonly refusal: Refusal; readonly nth: number }
  | { readonly kind: "client"; readonly cut: ClientCut }
  | { readonly kind: "store"; readonly fault: StoreFault }
  | { readonly kind: "kill"; readonly at: "request" | "chunk" | "moment"; readonly after: number };

export function chooseTrouble(random: Random): Trouble {
  const chance = random();
  const below = (end: number): number => Math.floor(random() * end);
  if (chance < 0.06) {
    const refused = upstreamRefusals[below(upstreamRefusals.length)];
    return refused === undefined ? { kind: "none" } : { kind: "refusal", refusal: refused, nth: below(2) };
  }
  if (chance < 0.3) {
    const parsed = parseFault(upstreamFaults[below(upstreamFaults.length)] ?? "");
    return parsed.kind === "fault" ? { kind: "upstream", fault: parsed.fault, nth: below(2) } : { kind: "none" };
  }
  if (chance < 0.45) {
    const at = (["body", "head", "stream"] as const)[below(3)] ?? "body";
    return { kind: "client", cut: { at, after: at === "body" ? below(200) : at === "head" ? below(12) : below(8) } };
  }
  if (chance < 0.57) {
    const kind = (["disk-full", "read-only", "throws"] as const)[below(3)] ?? "throws";
    const slow: StoreFault = { kind: "slow", ms: 10 };
    return { kind: "store", fault: random() < 0.2 ? slow : { kind, after: below(6) } };
  }
  if (chance < 0.65) {
    const at = (["request", "chunk", "moment"] as const)[below(3)] ?? "chunk";
    return { kind: "kill", at, after: at === "moment" ? below(25) : at === "chunk" ? below(10) : below(2) };
  }
  return { kind: chance < 0.68 ? "restart" : "none" };
}

/** `upstream rate-limit`, `refusal 403`, `client stream`, `kill chunk` … */
export function troubleName(trouble: Trouble): string {
  switch (trouble.kind) {
    case "upstream":
    case "store":
      return `${trouble.kind} ${trouble.fault.kind}`;
    case "refusal":
      return `${trouble.kind} ${trouble.refusal.status}`;
    case "client":
      return `${trouble.kind} ${trouble.cut.at}`;
    case "kill":
      return `${trouble.kind} ${trouble.at}`;
    case "none":
    case "restart":
      return trouble.kind;
  }
}

const upstreamFaults = [
  "overloaded",
  "rate-limit retry-after=1",
  "server-error",
  "timeout",
  "reset",
  "break after=0",
  "break after=3",
  "break after=6",
  "break after=9",
  "break-utf8",
  "overloaded-midway after=4",
  "trickle every=4",
  "wrong-usage factor=3",
];

/** Without a word of what a request holds: none of them is a reason to make it smaller. */
const upstreamRefusals = [
  refusal("invalid_request_error", "The request was not accepted."),
  refusal("authentication_error", "The key was not accepted."),
  refusal("permission_error", "The key may not do this."),
  refusal("not_found_error", "There is no such model for now."),
  refusal("conflict_error", "Another request is running."),
];
