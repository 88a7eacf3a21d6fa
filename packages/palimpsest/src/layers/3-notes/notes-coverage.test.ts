import { expect, it } from "vitest";
import { openedForTest, reopened, say, testDeps, user } from "../../../../../test/fixture/session.ts";
import { blobId } from "../../schema/brand.ts";
import type { Json } from "../../schema/json.ts";
import { coverageDraft, parseCoverage } from "./notes-coverage.ts";

const blob = blobId("a".repeat(64));

it("what the notes cover is known again after a resume, and the newest record counts", async () => {
  const deps = testDeps();
  const session = await openedForTest(deps);
  const entry = await say(session, user("hello"));
  await say(session, coverageDraft({ entry, blob, contextTokens: 10_000 }));
  await say(session, coverageDraft({ entry, blob, contextTokens: 15_000 }));
  const again = await reopened(deps, session);
  expect(parseCoverage(again.fold.projection.settings)).toEqual({ entry, blob, contextTokens: 15_000 });
  await again.close();
});

const rows: readonly (readonly [string, Json])[] = [
  ["no object", "x"],
  ["no blob", { entry: "e", blob: "zz", contextTokens: 1 }],
  ["no size", { entry: "e", blob }],
];
it.each(rows)("a record with %s is none", (_, value) => {
  expect(parseCoverage(new Map([["notes.covers", value]]))).toBeUndefined();
});

it("without a record there are no notes", () => {
  expect(parseCoverage(new Map())).toBeUndefined();
});
