import { expect, it } from "vitest";
import { summaryPrompt } from "./compaction-block.ts";

it("is asked for in these words", () => {
  expect(summaryPrompt).toMatchInlineSnapshot(`
    "This conversation is about to be replaced by a summary. You will go on with the work from the summary alone: whatever it leaves out is gone.

    Write it for yourself, so that you could take up the work at once. Say:
    - what was asked for, with every wish and limit that the user stated and that still holds;
    - what has been done and decided, and why, with names, paths, figures and commands as they were;
    - what was tried and failed, and what was learned from it;
    - where the work stands at this moment, and what comes next.

    Call no tools. Put the summary between <summary> and </summary>."
  `);
});
