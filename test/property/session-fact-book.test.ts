import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { collectFacts } from "../../packages/palimpsest/src/layers/4-compact/facts/fact-book.ts";
import type { SessionFacts } from "../../packages/palimpsest/src/layers/4-compact/facts/session-facts.ts";
import { SessionFactBook } from "../../packages/palimpsest/src/context/compact/session-fact-book.ts";
import type { Session, SessionDeps } from "../../packages/palimpsest/src/session/session.ts";
import { readLines } from "../../packages/palimpsest/src/transcript/read-lines.ts";
import type { Draft } from "../../packages/palimpsest/src/transcript/draft.ts";
import { foldOf } from "../fixture/log.ts";
import { append, logBytes, reopened, reply, result, testDeps, text, user } from "../fixture/session.ts";
import { toolUseId } from "../../packages/palimpsest/src/schema/brand.ts";
import { parametersFor } from "./runs.ts";
import { type SessionMove, sessionMove, SessionPlayer } from "./session-moves.ts";

/** What facts come from: calls of every subject, answered or left open, and what people say besides messages. */
type FactMove =
  | { readonly do: "queued" | "question" }
  | { readonly do: "run"; readonly tool: number; readonly outcome: "done" | "failed" | "left-open" | "twice" };

const factMove: fc.Arbitrary<FactMove> = fc.oneof(fc.record({ do: fc.constantFrom("queued", "question") }), {
  weight: 4,
  arbitrary: fc.record({
    do: fc.constant("run"),
    tool: fc.nat({ max: 40 }),
    outcome: fc.constantFrom("done", "failed", "left-open", "twice"),
  }),
});

const moves = fc.array(fc.oneof({ weight: 3, arbitrary: sessionMove }, { weight: 2, arbitrary: factMove }), {
  maxLength: 40,
});

const inputs: readonly (readonly [string, (at: number) => Record<string, unknown>])[] = [
  ["Bash", () => ({ command: "npm test" })],
  ["Bash", (at) => ({ command: `make ${at % 3}` })],
  ["Edit", (at) => ({ file_path: `/p/${at % 4}.ts` })],
  ["Read", (at) => ({ file_path: `/p/${at % 4}.ts` })],
  ["TodoWrite", (at) => ({ todos: [{ content: `todo ${at}`, status: "pending" }] })],
  ["TaskCreate", (at) => ({ subject: `task ${at}` })],
  ["TaskUpdate", (at) => ({ taskId: String(at % 5), status: at % 2 === 0 ? "completed" : "in_progress" })],
  ["ExitPlanMode", (at) => ({ plan: `plan ${at}` })],
];

function draftsOf(move: FactMove, at: number): readonly Draft[] {
  switch (move.do) {
    case "queued":
      return [{ type: "attachment", attachment: { type: "queued_command", prompt: `queued ${at}` } }];
    case "question":
      return [reply(`q_${at}`, text(`Which of them, ${at}?`)), user(`This one, ${at}`)];
    case "run": {
      const [name, input] = inputs[move.tool % inputs.length] ?? ["Bash", () => ({})];
      const calls = (move.outcome === "twice" ? [0, 1] : [0]).map((nth) => `run_${at}_${nth}`);
      const uses = calls.map((id) => ({
        type: "tool_use" as const,
        id: toolUseId(id),
        name,
        input: input(at) as never,
      }));
      const said = move.outcome === "failed" ? "Exit code 1\nError: no" : `Task #${at % 5} created`;
      const answered = move.outcome === "left-open" ? [] : calls;
      return [reply(`run_${at}`, text("I run it"), ...uses), ...answered.map((id) => result(id, said))];
    }
  }
}

const isFactMove = (move: SessionMove | FactMove): move is FactMove => ["queued", "question", "run"].includes(move.do);

/** Of the path of the whole log, read from its beginning. */
async function wholeFacts(deps: SessionDeps): Promise<SessionFacts> {
  const { logged } = readLines({ bytes: await logBytes(deps), start: 0, last: true });
  return collectFacts(foldOf(logged).path.entries);
}

/** One book for each session, as an agent keeps it. */
function bookKeeper(deps: SessionDeps): (session: Session) => SessionFactBook {
  const books = new WeakMap<Session, SessionFactBook>();
  return (session) => {
    const book = books.get(session) ?? new SessionFactBook(deps, session);
    books.set(session, book);
    return book;
  };
}

async function playAll(
  played: readonly (SessionMove | FactMove)[],
  stores: "always" | "sometimes" | "never",
): Promise<void> {
  const deps = testDeps({ tailBytes: 64 });
  const bookOf = bookKeeper(deps);
  let boundaries = 0;
  const player = await SessionPlayer.start(deps, {
    factsOf: async (session) => {
      boundaries += 1;
      const isStored = stores === "always" || (stores === "sometimes" && boundaries % 3 !== 0);
      return isStored ? bookOf(session).facts() : undefined;
    },
  });
  for (const [at, move] of played.entries()) {
    if (isFactMove(move)) await append(player.session, ...draftsOf(move, at));
    else await player.play(move);
    // Not after every move: a book must also catch up with several.
    if (at % 3 === 0) expect(await bookOf(player.session).facts()).toEqual(await wholeFacts(deps));
  }
  const whole = await wholeFacts(deps);
  expect(await bookOf(player.session).facts()).toEqual(whole);
  player.session = await reopened(deps, player.session);
  const again = bookOf(player.session);
  expect(await again.facts()).toEqual(whole);
  expect(again.unreadable).toBe(0);
  await player.session.close();
}

describe("the facts of a session", () => {
  it.each(["always", "sometimes", "never"] as const)(
    "are those of its whole log, however it was compacted, undone, branched and opened, where boundaries store them %s",
    async (stores) => {
      await fc.assert(
        fc.asyncProperty(moves, (played) => playAll(played, stores)),
        parametersFor({ quick: 60, long: 2000 }),
      );
    },
    60_000,
  );
});
