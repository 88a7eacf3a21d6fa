import { nanoUsd, tokens } from "palimpsest/internal/schema/brand";
import { expect, test } from "vitest";
import { approveDearEdits, type AskAboutEdit } from "./approve-dear-edits.ts";

const never = new AbortController().signal;
const planned = { trigger: "compact", because: "it pays", tokensSaved: tokens(9_000) };
const edit = (dollars: number) => ({ ...planned, costNanos: nanoUsd(dollars * 1e9) });

test.each([
  ["is not asked about without a setting", undefined, edit(5), 0],
  ["is not asked about below the price that the user set", 0.5, edit(0.49), 0],
  ["is asked about from that price on", 0.5, edit(0.5), 1],
  ["is asked about at any price if the price is 0", 0, edit(0), 1],
  ["is not asked about if the model's price is not known", 0, planned, 0],
] as const)("an edit %s", async (_, askAboveDollars, asked, times) => {
  let calls = 0;
  const ask: AskAboutEdit = async () => {
    calls += 1;
    return "not-now";
  };
  const approval = await approveDearEdits(ask, () => askAboveDollars)(asked, never);
  expect([calls, approval]).toEqual([times, times === 0 ? "yes" : "not-now"]);
});

test("after “always” no edit of the session is asked about, and after “yes” the next one is", async () => {
  const answers = ["yes", "always", "not-now"] as const;
  let calls = 0;
  const approve = approveDearEdits(
    async () => answers[calls++] ?? "not-now",
    () => 0.1,
  );
  const approvals = [await approve(edit(1), never), await approve(edit(1), never), await approve(edit(1), never)];
  expect([approvals, calls]).toEqual([["yes", "yes", "yes"], 2]);
});
