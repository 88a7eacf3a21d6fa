import { describe, expect, it } from "vitest";
import { renderAgentMessage } from "palimpsest/internal/layers/7-agents/render-agent-message";
import { renderReport } from "palimpsest/internal/layers/7-agents/render-report";
import { teammateAddress } from "palimpsest/internal/schema/agent-address";
import { agentId, nanoUsd, tokens } from "palimpsest/internal/schema/brand";
import { readEntry } from "palimpsest/internal/schema/entry";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { agentMessageAttachmentType } from "palimpsest/internal/transcript/attachment-text";
import { entryLines } from "./entry-lines.ts";

const ids = { uuid: "e1", parentUuid: null, sessionId: "s1", timestamp: "2026-01-01T00:00:00.000Z" };

function linesOf(line: JsonObject): readonly string[] {
  const read = readEntry({ ...ids, ...line });
  if (read.kind !== "entry") throw new Error("no entry");
  return entryLines(read.entry);
}

const report = renderReport({
  id: agentId("agent-01234567"),
  name: "explore",
  type: "explore",
  description: "find the parser",
  usage: { requests: 4, calls: 9, denied: 0, tokens: tokens(61_204), nanos: nanoUsd(90_000_000) },
  how: "answered",
  report: "It is in src/parse.ts.\nSee line 40.",
});

const attachment = (content: string): JsonObject => ({
  type: "attachment",
  attachment: { type: agentMessageAttachmentType, content },
});

describe("somebody who follows a conversation reads no frames that are for the model", () => {
  it("a report is a line with its use, and the report", () => {
    expect(linesOf(attachment(report))).toEqual([
      "explore has reported: 4 requests, 9 calls, 61,204 tokens, $0.09",
      "  It is in src/parse.ts.",
      "  See line 40.",
    ]);
  });

  it("a report as a result is one line", () => {
    const content = [{ type: "tool_result", tool_use_id: "toolu_1", content: report }];
    expect(linesOf({ type: "user", message: { role: "user", content } })).toEqual([
      "  done: explore has reported: 4 requests, 9 calls, 61,204 tokens, $0.09",
    ]);
  });

  it("a message names its sender", () => {
    const from = teammateAddress("leader", "docs");
    expect(linesOf(attachment(renderAgentMessage({ from, body: { type: "text", text: "Look at a.ts." } })))).toEqual([
      "Message from leader@docs: Look at a.ts.",
    ]);
    const stop = { type: "shutdown_request", requestId: "r1", reason: "Done." } as const;
    expect(linesOf(attachment(renderAgentMessage({ from, body: stop })))).toEqual([
      "Message from leader@docs (it asks you to stop): Done.",
    ]);
    const [heading, reason] = linesOf(
      attachment(renderAgentMessage({ from, body: { type: "idle_notice", why: "available", summary: "One.\nTwo." } })),
    );
    expect(heading).toBe("Message from leader@docs (it is idle (available)):");
    expect(reason).toBe("  One.");
  });

  it("what has another form is shown as it is", () => {
    expect(linesOf(attachment("<agent_report>\nanother form\n</agent_report>"))).toHaveLength(3);
  });
});
