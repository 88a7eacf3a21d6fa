import { describe, expect, it } from "vitest";
import type { Message } from "palimpsest/internal/schema/block";
import { toolUseId } from "palimpsest/internal/schema/brand";
import { createRuleSummariser } from "./summaries.ts";

const said = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });
const conversation: readonly Message[] = [
  said("Mend the clock in the tower."),
  {
    role: "assistant",
    content: [{ type: "tool_use", id: toolUseId("t"), name: "Edit", input: { file_path: "/hands.ts" } }],
  },
  { role: "user", content: [{ type: "tool_result", tool_use_id: toolUseId("t"), content: "ok" }] },
];
const summarise = createRuleSummariser();
const first = summarise({ messages: conversation, last: undefined, newest: undefined });

describe("the summariser that all policies share", () => {
  it("says the same of the same messages, in nine sections and without its own notes", () => {
    expect(summarise({ messages: conversation, last: undefined, newest: undefined })).toBe(first);
    expect(first.match(/^\d\. /gm)).toHaveLength(9);
    expect(first).toContain("Mend the clock in the tower.");
    expect(first).toContain("/hands.ts (changed)");
    expect(first).not.toMatch(/<\/?(?:analysis|summary)>/);
  });

  it("carries the summary before on, and takes nothing that was put back for something that was said", () => {
    const summaryText = `<system-reminder>\n${first}\n</system-reminder>\n\n<user-messages>the ledger</user-messages>`;
    const last = { summary: first, summaryText, texts: new Set([summaryText, "Content of /hands.ts"]) };
    const messages = [said(summaryText), said("Content of /hands.ts"), said("Now the bells.")];
    const second = summarise({ messages, last, newest: undefined });
    for (const words of ["- Mend the clock in the tower.", "- Now the bells.", "/hands.ts (changed)"])
      expect(second).toContain(words);
    expect(second).not.toMatch(/the ledger|Content of/);
  });
});
