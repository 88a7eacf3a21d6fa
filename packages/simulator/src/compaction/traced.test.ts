import { describe, expect, it } from "vitest";
import { Asking } from "../../../../test/fixture/asking.ts";
import { compactAt, longTalk, Recording, thresholdBeta } from "../../../../test/fixture/compacted.ts";
import { asyncLines } from "../../../../test/fixture/trace.ts";
import type { Responder } from "../responder/responder.ts";
import { Simulator } from "../simulator.ts";
import { readTrace, type TraceRequest } from "../trace/read-trace.ts";
import { TraceWriter } from "../trace/trace-writer.ts";

async function traced(
  responder: Responder,
): Promise<{ readonly request: TraceRequest | undefined; readonly costUsd: number }> {
  const lines: string[] = [];
  const trace = new TraceWriter({ write: async (line) => void lines.push(line) });
  const simulator = new Simulator({ responder, trace });
  await trace.begin({ seed: 0, startedAt: simulator.clock.now() });
  const ask = new Asking(simulator, { model: "claude-opus-5", ...compactAt() });
  const replied = await ask.reply({ messages: [longTalk()] }, thresholdBeta);
  const reading = await readTrace(asyncLines(lines));
  if (reading.kind !== "trace") throw new Error(reading.message);
  expect(reading.trace.requests).toHaveLength(1);
  return { request: reading.trace.requests[0], costUsd: replied.kind === "message" ? replied.costUsd : 0 };
}

describe("a trace of a compaction", () => {
  it("has the prompt that was summed up, every iteration, and what all of it cost", async () => {
    const { request, costUsd } = await traced(new Recording({ summary: "So far.", reply: "Yes." }));
    const { iterations, split, costUsd: told } = request?.reply ?? {};
    expect([...(request?.blocks ?? [])].map(({ path }) => path)).toEqual(["messages.0.content.0"]);
    expect(iterations?.map(({ type }) => type)).toEqual(["compaction", "message"]);
    expect(split).toEqual(iterations?.[0]?.split);
    expect(split?.inputTokens).toBeGreaterThan(50_000);
    expect(told).toBe(costUsd);
  });

  it("has one request, also where the reply behind the summary is refused", async () => {
    const lost: string[] = [];
    const responder: Responder = {
      name: "refusing",
      respond: ({ purpose }) =>
        purpose === "compaction"
          ? { move: { kind: "say", blocks: [{ type: "text", text: "So far." }] }, lost: () => void lost.push(purpose) }
          : {
              move: {
                kind: "refuse",
                refusal: { kind: "refused", status: 529, type: "overloaded_error", message: "No." },
              },
            },
    };
    const { request } = await traced(responder);
    expect(request?.reply).toMatchObject({ status: 529, outcome: "refused" });
    expect(lost).toEqual(["compaction"]);
  });
});
