import { join } from "node:path";
import { expect, it } from "vitest";
import { allAttempts } from "./support/attacks/all-attempts.ts";
import { attacksPage } from "./support/attacks/attacks-page.ts";
import { knownGaps } from "./support/attacks/known-gaps.ts";
import { campaignSeed } from "./support/attacks/trials.ts";

it("docs/attacks.md is made of the attempts and the list of gaps", async () => {
  await expect(attacksPage()).toMatchFileSnapshot(join(import.meta.dirname, "../docs/attacks.md"));
});

it("every gap that is listed is one of the attempts", () => {
  const attempts = new Set(
    allAttempts(campaignSeed).map((attempt) => `${attempt.class} | ${attempt.lines.join("\n")}`),
  );
  const listed = knownGaps.flatMap((gap) => gap.attempts.map((lines) => `${gap.class} | ${lines}`));
  expect(listed.filter((gap) => !attempts.has(gap))).toEqual([]);
});
