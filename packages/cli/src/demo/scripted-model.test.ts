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
} from "../../../../test/fixture/scene.ts";
import { summaryPrompt } from "palimpsest/internal/layers/4-compact/prompt";
import { release } from "./facts.ts";
import { fixing } from "./fixing.ts";
import { scriptedModel } from "./scripted-model.ts";
import { act, always, call, edit, knowing, read, type Step } from "./step.ts";

function working(steps: readonly Step[]) {
  const model = scriptedModel();
  model.take({ says: "Begin.", steps });
  return model;
}

const shown = (text: string) =>
  requestOf([userSays("Begin."), assistantSays(calls("toolu_1", "bash", {})), answers("toolu_1", text)]);

const seeking = knowing({
  pattern: /^cause: (?<cause>\w+)$/,
  look: read("log.txt"),
  play: ({ cause = "" }) => act(`It is ${cause}.`),
});

it.each([
  ["what its results say is what it goes on with", "noise\ncause: rust", "It is rust."],
  ["what it is not shown it looks for", "noise", 'read({"file_path":"log.txt"})'],
])("%s", async (_, result, answer) => {
  expect(said(await delivered(working([seeking]).actor, shown(result)))).toContain(answer);
});

it("a step waits until it has found what it needs, and says so where that never comes", async () => {
  const { actor } = working([seeking]);
  for (let look = 0; look < 4; look += 1) await delivered(actor, shown("noise"));
  await expect(delivered(actor, shown("noise"))).rejects.toThrow(/not there/);
  const patient = working([seeking]);
  await delivered(patient.actor, shown("noise"));
  expect(said(await delivered(patient.actor, shown("cause: frost")))).toContain("It is frost.");
});

it("a step is spent when its reply has arrived, not before", async () => {
  const { actor } = working([always("One."), always("Two.")]);
  const request = requestOf("Begin.");
  const lost = await played(actor, request);
  expect(await delivered(actor, request)).toEqual(lost.move);
  expect(said(await delivered(actor, request))).toBe("Two.");
});

it("what a step decides comes before what was to follow", async () => {
  const deciding: Step = () => ({ ...act("Decided."), follows: [always("First.")] });
  const { actor } = working([deciding, always("Last.")]);
  const answers = [];
  for (let at = 0; at < 3; at += 1) answers.push(said(await delivered(actor, requestOf("Begin."))));
  expect(answers).toEqual(["Decided.", "First.", "Last."]);
});

it("reads a file again where its edit was refused, and then edits it", async () => {
  const change = edit({ path: "src/a.js", from: "one", to: "two" });
  const { actor } = working([always("", change), always("Done.")]);
  const edited = await delivered(actor, requestOf("Begin."));
  const refused = requestOf([
    userSays("Begin."),
    assistantSays(calls("toolu_1", "edit", change.input)),
    answers("toolu_1", "Read it first.", { is_error: true }),
  ]);
  expect(said(await delivered(actor, refused))).toContain('read({"file_path":"src/a.js"})');
  expect(await delivered(actor, requestOf("The file."))).toEqual(edited);
});

it("refuses one request as too long where it is told to, and goes on with the same step", async () => {
  const model = working([always("One.")]);
  model.refuseNext();
  const { move } = await played(model.actor, requestOf("Begin."));
  expect(move).toMatchObject({ kind: "refuse", refusal: { message: "prompt is too long" } });
  expect(said(await delivered(model.actor, requestOf("Begin.")))).toBe("One.");
});

it("a summary names what was changed and what is open, forgets a file and every error, and spends no step", async () => {
  const list = call("todo", { todos: [{ content: "note the change", status: "pending" }] });
  const changes = ["src/a.js", "src/b.js"].map((path) => edit({ path, from: "one", to: "two" }));
  const { actor } = working([always("Failing: 399.", list, ...changes), always("Next.")]);
  await delivered(actor, requestOf("Begin."));
  const asked = requestOf(summaryPrompt({ variant: "all", previousSummary: "none" }));
  const summary = said(await delivered(actor, asked));
  expect(summary).toContain("- src/b.js: changed");
  expect(summary).toContain("- note the change");
  expect(summary).not.toMatch(/src\/a\.js|399/);
  expect(said(await delivered(actor, requestOf("Go on.")))).toBe("Next.");
});

it("the person names the release in the first message", () => expect(fixing().says).toContain(release));
