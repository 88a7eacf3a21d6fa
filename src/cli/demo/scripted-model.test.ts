import { expect, it } from "vitest";
import {
  answers,
  assistantSays,
  calls,
  delivered,
  played,
  requestOf,
  said,
  userSays,
} from "../../../test/fixture/scene.ts";
import { summaryPrompt } from "../../layers/4-compact/prompt.ts";
import { gaugePath } from "./project.ts";
import { codeword, tasks } from "./script.ts";
import { scriptedModel } from "./scripted-model.ts";

const [first] = tasks();
if (first === undefined) throw new Error("there is no task");

function working(steps = first?.steps ?? []) {
  const model = scriptedModel();
  model.take({ says: "Begin.", steps });
  return model.actor;
}

it.each([
  ["shows it", `The codeword is ${codeword}.`, true],
  ["does not", "There was one, once.", false],
])("knows a word where the request %s", async (_, text, knows) => {
  const actor = working([{ kind: "report", words: [codeword] }]);
  expect(said(await delivered(actor, requestOf(text))).includes(codeword)).toBe(knows);
});

it("a step is spent when its reply has arrived, not before", async () => {
  const actor = working();
  const request = requestOf("Begin.");
  const lost = await played(actor, request);
  const again = await delivered(actor, request);
  expect(again).toEqual(lost.move);
  expect(await delivered(actor, request)).not.toEqual(again);
});

it("reads a file again where its edit was refused, and then edits it", async () => {
  const edit = first.steps.filter((step) => step.kind === "edit").slice(0, 1);
  const actor = working(edit);
  const edited = await delivered(actor, requestOf("Begin."));
  const call = assistantSays(calls("toolu_1", "edit", {}));
  const refused = requestOf([userSays("Begin."), call, answers("toolu_1", "Read it first.", { is_error: true })]);
  expect(said(await delivered(actor, refused))).toBe(`read({"file_path":"${gaugePath(1)}"})`);
  expect(await delivered(actor, requestOf("The file."))).toEqual(edited);
});

it("writes a summary of what it changed and has to do, forgets the last error, and spends no step", async () => {
  const plan = first.steps.slice(0, 3);
  const actor = working(plan);
  const failing = "gauge 1: every level is 1 too high";
  for (const _ of plan) await delivered(actor, requestOf(failing));
  const { move } = await played(actor, requestOf("Go on."));
  const asked = requestOf(summaryPrompt({ variant: "all", previousSummary: "none" }));
  const summary = said(await delivered(actor, asked));
  expect(summary).toContain(`- ${gaugePath(1)}: changed`);
  expect(summary).toContain("- repair gauges 1 to 6");
  expect(summary).not.toMatch(/gauge-02|HERON|every level/);
  expect((await played(actor, requestOf("Go on."))).move).toEqual(move);
});
