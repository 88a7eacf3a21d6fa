import type { AgentInputItem } from "@openai/agents";
import { describe, expect, it } from "vitest";
import { toolUseId } from "../../schema/brand.ts";
import { encodeItems, writeItems } from "./agent-item.ts";

const params = { model: "m", input: [], max_output_tokens: 1, store: false as const };

/** What is sent in place of an item whose result was cleared. */
const cleared = (item: AgentInputItem) =>
  writeItems(
    {
      params,
      outgoing: [
        {
          kind: "made",
          of: 0,
          message: {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: toolUseId("c"), content: "[cleared]" }],
          },
        },
      ],
    },
    encodeItems([item]),
  );

describe("writeItems", () => {
  it("a cleared result of any tool that answers with a text is sent cleared, and keeps its other fields", () => {
    const outcome = { type: "exit" as const, exitCode: 3 };
    expect(
      cleared({
        type: "shell_call_output",
        callId: "c",
        id: "sh_1",
        output: [{ stdout: "long", stderr: "", outcome }],
      }),
    ).toEqual([
      { type: "shell_call_output", callId: "c", id: "sh_1", output: [{ stdout: "[cleared]", stderr: "", outcome }] },
    ]);
    expect(cleared({ type: "apply_patch_call_output", callId: "c", status: "completed", output: "long" })).toEqual([
      { type: "apply_patch_call_output", callId: "c", status: "completed", output: "[cleared]" },
    ]);
    expect(
      cleared({ type: "function_call_result", callId: "c", name: "read", status: "completed", output: "long" }),
    ).toEqual([{ type: "function_call_result", callId: "c", name: "read", status: "completed", output: "[cleared]" }]);
  });

  it("every item has its index: reasoning between them is sent as it was", () => {
    const items: AgentInputItem[] = [
      { type: "reasoning", id: "rs_1", content: [], providerData: { encrypted_content: "sealed" } },
      { type: "function_call", id: "fc_1", callId: "c", name: "read", arguments: "{}" },
    ];
    const given = encodeItems(items);
    const outgoing = given.map((_, at) => ({ kind: "given" as const, at }));
    const sent = writeItems({ params, outgoing }, given);
    expect(sent).toHaveLength(2);
    for (const [at, item] of sent.entries()) expect(item).toBe(items[at]);
  });
});
