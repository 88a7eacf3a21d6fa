import { expect, test } from "vitest";
import { append, openedForTest, reopened, reply, testDeps, text, user } from "../../../../../test/fixture/session.ts";
import type { PlanAnswer, ProposePlanOutcome } from "palimpsest/internal/ports/plan-mode";
import { entryId, tokens } from "palimpsest/internal/schema/brand";
import type { PermissionMode } from "../../tool/permission/decide-permission.ts";
import { appendBoundary } from "palimpsest/internal/session/append-boundary";
import type { Session, SessionDeps } from "palimpsest/internal/session/session";
import { rewind, undo } from "palimpsest/internal/session/undo";
import { createPlanning, SessionMode } from "./session-mode.ts";

const modeOf = (session: Session, opening: PermissionMode = "default"): SessionMode =>
  new SessionMode({ session, opening: () => opening });

interface World {
  readonly deps: SessionDeps;
  readonly session: Session;
  readonly mode: SessionMode;
  /** What the file holds. */
  readonly written: string[];
  readonly propose: (answer: PlanAnswer, signal?: AbortSignal) => Promise<ProposePlanOutcome>;
}

async function world(opening: PermissionMode = "default", tailBytes?: number): Promise<World> {
  const deps = testDeps(tailBytes === undefined ? {} : { tailBytes });
  const session = await openedForTest(deps);
  await append(session, user("Go."));
  const mode = modeOf(session, opening);
  const written: string[] = [];
  const file = {
    path: "/plan.md",
    write: async (text: string) => {
      written.push(text);
      return { kind: "open", path: "/plan.md", text, hash: "", modifiedMs: 0 } as const;
    },
  };
  const propose: World["propose"] = (answer, signal = new AbortController().signal) =>
    createPlanning({ mode, file, user: { review: async () => answer } }).propose("1. Do it.", signal);
  return { deps, session, mode, written, propose };
}

const reminders = (session: Session): readonly string[] =>
  session
    .view()
    .messages.flatMap(({ content }) =>
      content.flatMap((block) =>
        block.type === "text" && block.text.startsWith("<system-reminder>") ? [block.text] : [],
      ),
    );

test.each<[PlanAnswer, PermissionMode, "proposed" | "accepted"]>([
  [{ kind: "accepted", mode: "default" }, "default", "accepted"],
  [{ kind: "accepted", mode: "acceptEdits" }, "acceptEdits", "accepted"],
  [{ kind: "refused", words: "No." }, "plan", "proposed"],
  [{ kind: "nobody" }, "plan", "proposed"],
])("a plan that is answered with %j leaves the mode %s", async (answer, expected, state) => {
  const { mode, propose, written } = await world();
  expect(await propose(answer)).toEqual(answer);
  expect(mode.current()).toBe(expected);
  expect(mode.state().plan).toEqual({ text: "1. Do it.", state });
  expect(written).toEqual(["1. Do it."]);
});

test("a plan that the user changed counts as changed, in the file as well", async () => {
  const { mode, propose, written } = await world();
  await propose({ kind: "accepted", mode: "default", plan: "2. Otherwise." });
  expect(mode.state().plan).toEqual({ text: "2. Otherwise.", state: "accepted" });
  expect(written.at(-1)).toBe("2. Otherwise.");
});

test("what is answered after an abort widens nothing", async () => {
  const { mode, propose } = await world();
  expect(await propose({ kind: "accepted", mode: "acceptEdits" }, AbortSignal.abort())).toEqual({ kind: "refused" });
  expect(mode.current()).toBe("plan");
});

test("a session that was opened in plan mode leaves it on the user's word", async () => {
  const { mode, propose } = await world("plan");
  expect(mode.current()).toBe("plan");
  await propose({ kind: "accepted", mode: "acceptEdits" });
  expect(mode.current()).toBe("acceptEdits");
});

test.each([
  ["read whole", undefined],
  ["read from its last boundary on", 64],
])(
  "plan mode and plan go through a boundary, a resume and the undo of the boundary, in a log %s",
  async (_, tailBytes) => {
    const { deps, session, mode, propose } = await world("bypass", tailBytes);
    await propose({ kind: "refused" });
    const plan = { text: "1. Do it.", state: "proposed" };
    await append(session, reply("m", text("x".repeat(2_000))));
    await appendBoundary(deps, session, { summary: "ok", trigger: "auto" });
    expect(mode.current()).toBe("plan");
    const again = await reopened(deps, session);
    expect(modeOf(again, "bypass").current()).toBe("plan");
    expect(modeOf(again, "bypass").state().plan).toEqual(plan);
    const undone = await undo(again, { mode: "path", blockingTokens: tokens(1e9), thinking: "free" });
    expect(undone.kind).toBe("undone");
    expect(modeOf(again, "bypass").current()).toBe("plan");
  },
);

test("on a branch from before, the mode is what it was there", async () => {
  const { session, mode } = await world();
  const [first] = await append(session, user("More."));
  await mode.enter();
  await append(session, { ...user("Otherwise."), parentUuid: first ?? null });
  expect(mode.current()).toBe("default");
});

test.each<[PermissionMode, PermissionMode]>([
  ["default", "default"],
  ["plan", "plan"],
  ["bypass", "acceptEdits"],
])("what a log says is never wider than what the session is opened with: %s", async (opening, expected) => {
  const { deps, session, propose } = await world();
  await propose({ kind: "accepted", mode: "acceptEdits" });
  const again = await reopened(deps, session);
  expect(modeOf(again, opening).current()).toBe(expected);
});

test("the model is told of a mode that it does not know of, once", async () => {
  const { session, mode } = await world("plan");
  await mode.tell();
  const once = session.fold.path.entries.length;
  await mode.tell();
  expect(session.fold.path.entries).toHaveLength(once);
  expect(reminders(session)).toEqual([expect.stringContaining("Plan mode is on")]);
});

test("a rewind takes the mode along, and what the model no longer sees of it is told again", async () => {
  const { session, mode } = await world();
  const [said = entryId("")] = await append(session, user("More."));
  await mode.change("plan");
  await rewind(session, said);
  expect([mode.current(), reminders(session)]).toEqual(["plan", []]);
  await mode.tell();
  await mode.tell();
  expect(reminders(session)).toEqual([expect.stringContaining("Plan mode is on")]);
});

test("what the view says of the mode and is no longer so is corrected behind a rewind", async () => {
  const { session, mode } = await world();
  await mode.change("plan");
  const [said = entryId("")] = await append(session, user("More."));
  await mode.change("default");
  await rewind(session, said);
  expect([mode.current(), reminders(session)]).toEqual(["default", [expect.stringContaining("Plan mode is on")]]);
  await mode.tell();
  expect(reminders(session).at(-1)).toContain("Plan mode is over");
});

test.each<PermissionMode>(["default", "acceptEdits", "bypass"])(
  "of %s from the start nothing is told",
  async (opening) => {
    const { session, mode } = await world(opening);
    await mode.tell();
    expect(reminders(session)).toEqual([]);
  },
);

test("the user can change the mode to any, and the model is told", async () => {
  const { session, mode } = await world();
  await mode.enter();
  await mode.change("bypass");
  expect(mode.current()).toBe("bypass");
  expect(reminders(session)).toEqual([expect.stringContaining("Plan mode is over")]);
});

test("where a write is refused, plan mode stays", async () => {
  const { mode, session } = await world("plan");
  const refusing = { kind: "failed", why: "io", message: "no" } as const;
  const broken = new SessionMode({
    session: { fold: session.fold, append: async () => refusing },
    opening: () => "plan",
  });
  expect(await broken.leave("acceptEdits", "x")).toEqual(refusing);
  expect([broken.current(), mode.current()]).toEqual(["plan", "plan"]);
});
