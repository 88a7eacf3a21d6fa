import { describe, expect, it } from "vitest";
import type { ModelFailure, ModelPort, ModelRequest } from "../../packages/palimpsest/src/ports/model-port.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import type { MoveBlock } from "../../packages/simulator/src/responder/responder.ts";
import { parseFault } from "../../packages/simulator/src/fault/fault.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import type { SimulatorOptions } from "../../packages/simulator/src/simulator-options.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { blocksIn, endIn, failureIn, flawsIn, heard, requestFrom, saidIn } from "../fixture/model-events.ts";
import { playing, says } from "../scenario/support/simulated.ts";
import { skipped } from "./skipped.ts";

export interface ModelUnderTest {
  readonly name: string;
  /** One that the simulator knows. */
  readonly model: string;
  readonly connect: (fetch: typeof globalThis.fetch) => ModelPort;
  /** Rules that don't apply to it, each with its reason, which stands beside the skipped test. */
  readonly skips?: { readonly flawed?: string; readonly broken?: string; readonly limit?: string };
}

const weather = {
  name: "weather",
  description: "Tells the weather.",
  input_schema: { type: "object", properties: { city: { type: "string" } } },
};
const someTokens: unknown = expect.any(Number);

/** The rules of the port, whoever serves the model. `heard` checks that each reply ends once. */
export function modelContract({ name, model, connect, skips = {} }: ModelUnderTest): void {
  const to = (options: SimulatorOptions): ModelPort => connect(simulatorFetch(new Simulator(options)));
  const request = (more: JsonObject = {}): ModelRequest =>
    requestFrom({ model, max_tokens: 500, stream: true, messages: [{ role: "user", content: "Hello" }], ...more });
  const failed = async (options: SimulatorOptions, more?: JsonObject): Promise<ModelFailure> =>
    failureIn(await heard({ port: to(options), request: request(more) }));

  describe(`the model ${name}`, () => {
    it("begins a reply once, says its text and each block when it is whole, and ends with what it cost", async () => {
      const text = "Hi, this takes more than one piece: 東京 🗼";
      const events = await heard({ port: to({ responder: playing(says(text)) }), request: request() });
      expect(events.map(({ kind }) => kind).filter((kind) => kind === "reply-start")).toHaveLength(1);
      expect(events[0]).toMatchObject({ kind: "reply-start", model, id: expect.stringMatching(/\S/) as unknown });
      expect(saidIn(events, "text-delta")).toBe(text);
      expect(blocksIn(events)).toMatchObject([{ type: "text", text }]);
      const { stopReason, usage } = endIn(events);
      expect(stopReason).toBe("end_turn");
      expect(usage).toMatchObject({ input_tokens: someTokens, output_tokens: someTokens });
    });

    it("gives calls with their input and ids of their own, behind what was said before them", async () => {
      const blocks: readonly MoveBlock[] = [
        { type: "text", text: "I look." },
        { type: "tool_use", name: "weather", input: { city: "東京", days: [1, 2] } },
        { type: "tool_use", name: "weather", input: {} },
      ];
      const port = to({ responder: playing(blocks) });
      const events = await heard({ port, request: request({ tools: [weather] }) });
      const [text, one, two, ...more] = blocksIn(events);
      expect(text).toMatchObject({ type: "text", text: "I look." });
      expect(one).toMatchObject({ type: "tool_use", name: "weather", input: { city: "東京", days: [1, 2] } });
      expect(two).toMatchObject({ type: "tool_use", name: "weather", input: {} });
      expect(more).toEqual([]);
      expect(new Set([one, two].map((block) => (block?.type === "tool_use" ? block.id : ""))).size).toBe(2);
      expect(flawsIn(events)).toEqual([undefined, undefined, undefined]);
      expect(endIn(events).stopReason).toBe("tool_use");
    });

    it.skipIf(skips.flawed)(
      `says of a call whose input is no JSON object that it is flawed${skipped(skips.flawed)}`,
      async () => {
        const call = { type: "tool_use", name: "weather", input: {}, rawInput: '{"city": "Par' } as const;
        const events = await heard({
          port: to({ responder: playing([call]) }),
          request: request({ tools: [weather] }),
        });
        expect(blocksIn(events)).toMatchObject([{ type: "tool_use", input: {} }]);
        expect(flawsIn(events)).toEqual([expect.stringMatching(/\S/)]);
      },
    );

    it("takes the same request again: nothing of it is used up", async () => {
      const port = to({ responder: playing(says("Once."), says("Twice.")) });
      const asked = request({ system: "You help.", tools: [weather] });
      const before = JSON.stringify(asked.messages);
      expect(saidIn(await heard({ port, request: asked }), "text-delta")).toBe("Once.");
      expect(saidIn(await heard({ port, request: asked }), "text-delta")).toBe("Twice.");
      expect(JSON.stringify(asked.messages)).toBe(before);
    });

    it.each([
      ["overloaded", { why: "overloaded", retry: "later" }],
      ["server-error", { why: "server", retry: "later" }],
      ["rate-limit retry-after=7", { why: "rate-limited", retry: "later", retryAfterMs: 7_000 }],
      ["reset", { why: "network", retry: "later" }],
    ] as const)("tells a fault of the server (%s) as its last event", async (fault, expected) => {
      expect(await failed(faulty(fault))).toMatchObject({
        ...expected,
        message: expect.stringMatching(/\S/) as unknown,
      });
    });

    it.skipIf(skips.broken)(
      `tells a reply that breaks off as broken, for a later try${skipped(skips.broken)}`,
      async () => {
        expect(await failed(faulty("break after=4"))).toMatchObject({ retry: "later" });
      },
    );

    it("tells a request that is too long as such, with the limit where the server names it", async () => {
      const messages = [{ role: "user", content: "a word ".repeat(20_000) }];
      const failure = await failed({ models: [{ id: model, windowTokens: 10_000 }] }, { messages });
      expect(failure).toMatchObject({ why: "too-long", retry: "never" });
      expect(failure.limitTokens).toBe(skips.limit === undefined ? 10_000 : undefined);
    });

    it("tells a key that is not taken, and a model that is not there", async () => {
      const closed = connect(async () => Response.json(wrongKey, { status: 401 }));
      expect(failureIn(await heard({ port: closed, request: request() }))).toMatchObject({
        why: "unauthorised",
        retry: "never",
      });
      expect(await failed({}, { model: "no-such-model" })).toMatchObject({ why: "not-found", retry: "never" });
    });

    it("tells a server that can't be reached", async () => {
      const port = connect(() => Promise.reject(new TypeError("fetch failed")));
      expect(failureIn(await heard({ port, request: request() }))).toMatchObject({ why: "network", retry: "later" });
    });

    it("ends with `aborted`, whether it is aborted before it begins or while it is waited for", async () => {
      const before = heard({ port: to({}), request: request(), signal: AbortSignal.abort() });
      expect(failureIn(await before).why).toBe("aborted");
      const stop = new AbortController();
      const waiting = heard({ port: to(faulty("hang")), request: request(), signal: stop.signal });
      stop.abort();
      expect(failureIn(await waiting).why).toBe("aborted");
    });

    it("says nothing of a model that it does not know or can't ask about", async () => {
      expect(await to({}).describe("no-such-model")).toBeUndefined();
      const unreached = connect(() => Promise.reject(new TypeError("fetch failed")));
      expect(await unreached.describe(model)).toBeUndefined();
      expect(await unreached.count?.({ model, ...countable })).toMatchObject(
        unreached.count === undefined ? {} : { kind: "uncounted" },
      );
    });
  });
}

const wrongKey = { type: "error", error: { type: "authentication_error", message: "invalid x-api-key" } };
const countable = { system: ["You help."], tools: [], messages: [] };

function faulty(fault: string): SimulatorOptions {
  const parsed = parseFault(fault);
  if (parsed.kind === "wrong") throw new Error(parsed.message);
  const move = { kind: "say", blocks: says("A short answer: 東京, and some more."), pauseMs: millis(1) } as const;
  return { responder: { name: "faulty", respond: () => ({ move, fault: parsed.fault }) } };
}
