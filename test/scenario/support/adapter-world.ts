import { getPreset } from "../../../packages/palimpsest/src/policy/policy-catalogue.ts";
import { simulatorFetch } from "../../../packages/simulator/src/http/simulator-fetch.ts";
import { extractResponder } from "../../../packages/simulator/src/responder/extract-responder.ts";
import type { MoveBlock, Responder } from "../../../packages/simulator/src/responder/responder.ts";
import { Simulator } from "../../../packages/simulator/src/simulator.ts";

/** Summaries alone make room. */
const patient = { ...getPreset("palimpsest"), name: "patient", clear: {} };

/** Options of an adapter. */
export const small = { contextTokens: 24_000, policy: patient };

/** Calls `read` so often, then answers, and begins again. */
export function reader(calls: number, { thinks = false, talks = true } = {}): Responder {
  let made = 0;
  return {
    name: "reader",
    respond: () => {
      made += 1;
      if (made % (calls + 1) === 0) return { move: { kind: "say", blocks: [{ type: "text", text: "Done." }] } };
      const thinking: readonly MoveBlock[] = thinks ? [{ type: "thinking", thinking: `Thought ${made}.` }] : [];
      const text: readonly MoveBlock[] = talks ? [{ type: "text", text: `Step ${made}.` }] : [];
      const call: MoveBlock = { type: "tool_use", name: "read", input: { path: `src/${made}.ts` } };
      return { move: { kind: "say", blocks: [...thinking, ...text, call] } };
    },
  };
}

/** In every summary of `summarising`. */
export const summaryMark = "Written by the model itself.";

/** The same, but it writes the summaries that it is asked for. */
export const summarising = (inner: Responder): Responder => ({
  name: "summarising",
  respond: async (scene) => {
    if (!JSON.stringify(scene.request.messages.at(-1)).includes("<summary>")) return await inner.respond(scene);
    const answer = await extractResponder.respond(scene);
    const { move } = answer;
    if (move.kind !== "say") return answer;
    const blocks = move.blocks.map((block) =>
      block.type === "text"
        ? { ...block, text: block.text.replace("</summary>", `\n${summaryMark}\n</summary>`) }
        : block,
    );
    return { ...answer, move: { ...move, blocks } };
  },
});

/** What `read` returns. */
export const fileText = (path: unknown): string =>
  `${typeof path === "string" ? path : JSON.stringify(path)} ${"line of code; ".repeat(400)}`;

/** The same, but this request is refused as too long. */
export function refusing(inner: Responder, refused: number): Responder {
  const message = "prompt is too long: 31000 tokens > 24000 maximum";
  let requests = 0;
  return {
    name: "refusing",
    respond: (scene) => {
      requests += 1;
      if (requests !== refused) return inner.respond(scene);
      const refusal = { kind: "refused", status: 400, type: "invalid_request_error", message } as const;
      return { move: { kind: "refuse", refusal } };
    },
  };
}

/** For a framework's client: an API in this process, and the bodies of what it was asked. */
export function recordingFetch(answering: Responder | Simulator): {
  readonly fetch: typeof globalThis.fetch;
  readonly bodies: readonly string[];
} {
  const bodies: string[] = [];
  const inner = simulatorFetch(answering instanceof Simulator ? answering : new Simulator({ responder: answering }));
  const fetch: typeof globalThis.fetch = (url, init) => {
    if (typeof init?.body === "string") bodies.push(init.body);
    return inner(url, init);
  };
  return { fetch, bodies };
}

export const countBoundaries = (receipts: readonly { readonly kind: string }[] = []): number =>
  receipts.filter(({ kind }) => kind === "boundary").length;

export const longest = (bodies: readonly string[]): number => Math.max(...bodies.map((body) => body.length));
