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
import { releaseName } from "./facts.ts";
import { fixTask } from "./script.ts";
import {
  createScriptedModel,
  replyWith,
  alwaysReply,
  toolCall,
  editCall,
  whenSeen,
  readCall,
  type ScriptStep,
} from "./scripted-model.ts";

function working(steps: readonly ScriptStep[]) {
  const model = createScriptedModel();
  model.startTask({ says: "Begin.", steps });
  return model;
}

const shown = (text: string) =>
  requestOf([userSays("Begin."), assistantSays(calls("toolu_1", "bash", {})), answers("toolu_1", text)]);

const seeking = whenSeen({
  pattern: /^cause: (?<cause>\w+)$/,
  look: readCall("log.txt"),
  play: ({ cause = "" }) => replyWith(`It is ${cause}.`),
});

it.each([
  ["what its results say is what it goes on with", "noise\ncause: rust", "It is rust."],
  ["what it is not shown it looks for", "noise", 'read({"file_path":"log.txt"})'],
])("%s", async (_, result, answer) => {
  expect(said(await delivered(working([seeking]).responder, shown(result)))).toContain(answer);
});

it("a step waits until it has found what it needs, and says so where that never comes", async () => {
  const { responder: actor } = working([seeking]);
  for (let look = 0; look < 4; look += 1) await delivered(actor, shown("noise"));
  await expect(delivered(actor, shown("noise"))).rejects.toThrow(/not there/);
  const patient = working([seeking]);
  await delivered(patient.responder, shown("noise"));
  expect(said(await delivered(patient.responder, shown("cause: frost")))).toContain("It is frost.");
});

it("a step is spent when its reply has arrived, not before", async () => {
  const { responder: actor } = working([alwaysReply("One."), alwaysReply("Two.")]);
  const request = requestOf("Begin.");
  const lost = await played(actor, request);
  expect(await delivered(actor, request)).toEqual(lost.move);
  expect(said(await delivered(actor, request))).toBe("Two.");
});

it("what a step decides comes before what was to follow", async () => {
  const deciding: ScriptStep = () => ({ ...replyWith("Decided."), follows: [alwaysReply("First.")] });
  const { responder: actor } = working([deciding, alwaysReply("Last.")]);
  const answers = [];
  for (let at = 0; at < 3; at += 1) answers.push(said(await delivered(actor, requestOf("Begin."))));
  expect(answers).toEqual(["Decided.", "First.", "Last."]);
});

it("reads a file again where its edit was refused, and then edits it", async () => {
  const change = editCall({ path: "src/a.js", from: "one", to: "two" });
  const { responder: actor } = working([alwaysReply("", change), alwaysReply("Done.")]);
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
  const model = working([alwaysReply("One.")]);
  model.refuseNext();
  const { move } = await played(model.responder, requestOf("Begin."));
  expect(move).toMatchObject({ kind: "refuse", refusal: { message: "prompt is too long" } });
  expect(said(await delivered(model.responder, requestOf("Begin.")))).toBe("One.");
});

it("a summary names what was changed and what is open, forgets a file and every error, and spends no step", async () => {
  const list = toolCall("todo", { todos: [{ content: "note the change", status: "pending" }] });
  const changes = ["src/a.js", "src/b.js"].map((path) => editCall({ path, from: "one", to: "two" }));
  const { responder: actor } = working([alwaysReply("Failing: 399.", list, ...changes), alwaysReply("Next.")]);
  await delivered(actor, requestOf("Begin."));
  const asked = requestOf(summaryPrompt({ variant: "all", previousSummary: "none" }));
  const summary = said(await delivered(actor, asked));
  expect(summary).toContain("- src/b.js: changed");
  expect(summary).toContain("- note the change");
  expect(summary).not.toMatch(/src\/a\.js|399/);
  expect(said(await delivered(actor, requestOf("Go on.")))).toBe("Next.");
});

it("the person names the release in the first message", () => expect(fixTask().says).toContain(releaseName));
