import { describe, expect, it } from "vitest";
import { openedForTest, say, testDeps, user } from "../../../../../test/fixture/session.ts";
import { parseBlock } from "../../schema/block.ts";
import { summaryDraft } from "../../transcript/draft.ts";
import { boundaryDrafts } from "../../session/append-boundary.ts";
import type { ServerSummaryOutcome } from "./server-call.ts";
import { serverSummaryDraft } from "./boundary-draft.ts";

const given = { type: "compaction", content: "So far.", encrypted_content: null, signature: "c2ln", tool_changes: [] };
const block = parseBlock(given);
if (block.type !== "compaction") throw new Error("no compaction");
const summarised: Extract<ServerSummaryOutcome, { kind: "block" }> = {
  kind: "block",
  block,
  model: "writer",
  text: "So far.",
  calls: [],
};
const draft = serverSummaryDraft({ summarised, carried: "- To do: more", ledger: "They said: go.", trigger: "auto" });

describe("what is written of a provider's summary", () => {
  it("is a summary as every reader of such logs knows it, and the block in a field of its own", () => {
    const [, summary] = boundaryDrafts({ ...draft, trigger: "auto" }, { leaf: undefined });
    expect(summary).toEqual({
      type: "user",
      message: {
        role: "user",
        content: [
          { type: "text", text: draft.summary },
          { type: "text", text: draft.server.beside },
        ],
      },
      isMeta: true,
      isCompactSummary: true,
      isVisibleInTranscriptOnly: true,
      serverSummary: { model: "writer", block: given },
    });
  });

  it("says in its text what the block says, and beside it what is ours, each once", () => {
    expect(draft.summary).toContain("So far.");
    expect(draft.summary).not.toContain("Carry on");
    expect(draft.server.beside).toContain("- To do: more");
    expect(draft.server.beside).toContain("Carry on");
    expect(draft.server.beside.endsWith("They said: go.")).toBe(true);
    expect(draft.server.beside).not.toContain("So far.");
  });

  it("is a text like any other where no boundary stands before it", async () => {
    const session = await openedForTest(testDeps());
    session.readBy("writer");
    await say(session, summaryDraft(draft));
    await say(session, user("And now?"));
    expect(session.view().messages).toMatchObject([{ role: "user", content: [{ type: "text" }, {}, {}] }]);
    session.fold.refold();
    expect(session.view().messages[0]?.role).toBe("user");
  });
});
