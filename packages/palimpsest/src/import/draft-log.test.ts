import { describe, expect, it } from "vitest";
import { importDeps } from "../../../../test/fixture/imported.ts";
import { DraftLog, textBlock } from "./draft-log.ts";

describe("a boundary in a sub-agent's conversation", () => {
  it("follows the agent's own last entry", () => {
    const log = new DraftLog("copilot", importDeps);
    const kept = log.user([textBlock("Find tar")], { agent: "k2" });
    const before = log.user([textBlock("Look in the shed")], { agent: "k2" });
    log.user([textBlock("Patch the hull")]);
    log.boundary({ summary: [textBlock("Tar is in the shed.")], keptFrom: kept }, { agent: "k2" });
    const [, , , boundary, summary] = log.translation().entries;
    expect(boundary).toMatchObject({
      agentId: "k2",
      logicalParentUuid: before,
      compactMetadata: { preservedSegment: { headUuid: kept, tailUuid: before } },
    });
    expect(summary).toMatchObject({ agentId: "k2", parentUuid: boundary?.["uuid"] });
  });
});
