import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { scenario as counting } from "../../../../examples/scenarios/counting.ts";
import {
  answers,
  assistantSays,
  blocksSaid,
  calls,
  delivered,
  played,
  requestOf,
  said,
  userSays,
} from "../../../../test/fixture/scene.ts";
import type { Responder, MoveBlock } from "../responder/responder.ts";
import { formatScenarioProblem } from "./scenario-form.ts";
import { parseScenario, readScenario, type ReadScenarioOutcome } from "./read-scenario.ts";
import { scriptResponder } from "./script-responder.ts";

const hello = requestOf("Hello you");
const withResult = (content: string): ReturnType<typeof requestOf> =>
  requestOf([userSays("Go"), assistantSays(calls("t1", "bash", {})), answers("t1", content)]);

function responderFor(reading: ReadScenarioOutcome): Responder {
  if (reading.kind !== "scenario") throw new Error(reading.problems.map(formatScenarioProblem).join("\n"));
  return scriptResponder(reading.scenario);
}
const responderOf = (text: string): Responder =>
  responderFor(parseScenario({ file: "s.yaml", text: `name: s\n${text}` }));

async function heard(
  responder: Responder,
  requests: readonly ReturnType<typeof requestOf>[],
): Promise<readonly string[]> {
  const replies: string[] = [];
  for (const request of requests) replies.push(said(await delivered(responder, request)));
  return replies;
}
const idOf = (block: MoveBlock): string | undefined => (block.type === "tool_use" ? block.id : undefined);
const hellos = (count: number): readonly ReturnType<typeof requestOf>[] => Array.from({ length: count }, () => hello);

describe("moves", () => {
  it("say thinking, text and calls in this order", async () => {
    const responder = responderOf(
      "moves: [{ tools: [{ name: read, input: { a: 1 }, id: t_1 }, { name: b, rawInput: '{' }], text: T, thinking: H, stop: max_tokens, delayMs: 5, pauseMs: 6 }]",
    );
    expect(await delivered(responder, hello)).toEqual({
      kind: "say",
      blocks: [
        { type: "thinking", thinking: "H" },
        { type: "text", text: "T" },
        { type: "tool_use", name: "read", input: { a: 1 }, id: "t_1" },
        { type: "tool_use", name: "b", input: {}, rawInput: "{" },
      ],
      stop: "max_tokens",
      delayMs: 5,
      pauseMs: 6,
    });
  });

  it("say blocks in the order they are written in, also none", async () => {
    const responder = responderOf(
      "moves: [{ blocks: [{ text: a }, { redacted: r }, { tool: { name: x } }, { text: b }] }, { blocks: [] }]",
    );
    expect(await heard(responder, hellos(2))).toEqual(["a | redacted_thinking: r | x({}) | b", ""]);
  });

  it("are repeated with their number", async () => {
    const responder = responderOf(
      "moves: [{ repeat: 2, text: part <n>, tools: [{ name: r, input: { p: ['f-<n>'] } }] }, { text: then <n> }]",
    );
    expect(await heard(responder, hellos(3))).toEqual([
      'part 1 | r({"p":["f-1"]})',
      'part 2 | r({"p":["f-2"]})',
      "then <n>",
    ]);
  });

  it("in a group are repeated together, with the innermost number", async () => {
    const responder = responderOf("moves: [{ repeat: 2, moves: [{ text: a<n> }, { repeat: 2, text: b<n> }] }]");
    expect(await heard(responder, hellos(6))).toEqual(["a1", "b1", "b2", "a2", "b1", "b2"]);
  });

  it("can refuse, once", async () => {
    const responder = responderOf(
      "moves: [{ refuse: { type: rate_limit_error, message: slow down, retryAfterSeconds: 3 } }, { text: ok }]",
    );
    expect((await played(responder, hello)).move).toEqual({
      kind: "refuse",
      refusal: { kind: "refused", status: 429, type: "rate_limit_error", message: "slow down", retryAfterSeconds: 3 },
    });
    expect(said((await played(responder, hello)).move)).toBe("ok");
  });
});

describe("branches", () => {
  it("are decided by the request that reaches them", async () => {
    const text =
      "moves: [{ text: a }, { when: { result: FAIL }, do: [{ text: bad }, { text: worse }], else: [{ text: good }] }, { text: z }]";
    expect(await heard(responderOf(text), [withResult("FAIL"), withResult("FAIL"), hello, hello])).toEqual([
      "a",
      "bad",
      "worse",
      "z",
    ]);
    expect(await heard(responderOf(text), [withResult("FAIL"), withResult("ok"), hello])).toEqual(["a", "good", "z"]);
  });

  it("without the matching side are passed over", async () => {
    const responder = responderOf("moves: [{ when: { called: nothing }, do: [{ text: a }] }, { text: b }]");
    expect(await heard(responder, hellos(1))).toEqual(["b"]);
  });

  it("that are repeated are decided anew each time", async () => {
    const responder = responderOf(
      "moves: [{ repeat: 3, when: { result: FAIL }, do: [{ text: again <n> }], else: [{ text: good <n> }] }]",
    );
    expect(await heard(responder, [withResult("FAIL"), withResult("ok"), withResult("FAIL")])).toEqual([
      "again 1",
      "good 2",
      "again 3",
    ]);
  });
});

describe("a move is spent", () => {
  it("only when it was delivered: a lost one comes again", async () => {
    const responder = responderOf("moves: [{ text: a }, { text: b }]");
    (await played(responder, hello)).lost?.();
    expect(await heard(responder, hellos(2))).toEqual(["a", "b"]);
  });

  it("to one of two who ask at the same time; the other gets the next", async () => {
    const responder = responderOf("moves: [{ text: a }, { text: b }, { text: c }]");
    const [one, two] = [await played(responder, hello), await played(responder, hello)];
    expect([said(one.move), said(two.move)]).toEqual(["a", "b"]);
    two.delivered?.();
    one.lost?.();
    expect(await heard(responder, hellos(2))).toEqual(["a", "c"]);
  });
});

describe("faults", () => {
  it("befall a move one a try, then it comes whole", async () => {
    const responder = responderOf("moves: [{ text: a, fault: [overloaded, break after=2] }, { text: b }]");
    const tries = [];
    for (let at = 0; at < 3; at += 1) {
      const { fault, faulted, lost, delivered, move } = await played(responder, hello);
      faulted?.();
      tries.push([said(move), fault?.kind]);
      (fault === undefined ? delivered : lost)?.();
    }
    expect(tries).toEqual([
      ["a", "overloaded"],
      ["a", "break"],
      ["a", undefined],
    ]);
    expect(await heard(responder, hellos(1))).toEqual(["b"]);
  });

  it("that stand alone go with the next move, also through a branch and behind the last", async () => {
    const responder = responderOf(
      "moves: [{ fault: overloaded, repeat: 2 }, { when: { called: x }, else: [{ text: a }] }, { fault: overloaded }]",
    );
    const faults = [];
    for (let at = 0; at < 5; at += 1) {
      const { fault, faulted, lost, delivered, move } = await played(responder, hello);
      faulted?.();
      faults.push([said(move).slice(0, 12), fault?.kind]);
      (fault === undefined ? delivered : lost)?.();
    }
    expect(faults).toEqual([
      ["a", "overloaded"],
      ["a", "overloaded"],
      ["a", undefined],
      ["The scenario", "overloaded"],
      ["The scenario", undefined],
    ]);
  });

  it("wait where another one happened instead", async () => {
    const responder = responderOf("moves: [{ text: a, fault: overloaded }]");
    const faults = [];
    for (const happens of [false, false, true, false]) {
      const { fault, faulted, lost } = await played(responder, hello);
      faults.push(fault?.kind);
      if (happens) faulted?.();
      lost?.();
    }
    expect(faults).toEqual(["overloaded", "overloaded", "overloaded", undefined]);
  });

  it("come before a refusal, which is then still to come", async () => {
    const responder = responderOf(
      "moves: [{ fault: overloaded, refuse: { type: api_error, message: m } }, { text: b }]",
    );
    const first = await played(responder, hello);
    expect(first.fault?.kind).toBe("overloaded");
    first.faulted?.();
    first.lost?.();
    expect((await played(responder, hello)).move.kind).toBe("refuse");
    expect(await heard(responder, hellos(1))).toEqual(["b"]);
  });
});

describe("after the last move", () => {
  it.each([
    ["", ["a", "The scenario “s” is over: it has no further reply."]],
    ["after: end", ["a", "The scenario “s” is over: it has no further reply."]],
    ["after: echo", ["a", "You wrote: “Hello you”"]],
    ["after: repeat", ["a", "a", "a"]],
  ])("%s", async (after, expected) => {
    expect(await heard(responderOf(`moves: [{ text: a }]\n${after}`), hellos(expected.length))).toEqual(expected);
  });

  it("an echo quotes whoever gets it, also behind one that was lost", async () => {
    const responder = responderOf("moves: [{ text: a }]\nafter: echo");
    await delivered(responder, hello);
    (await played(responder, requestOf("From somebody else"))).lost?.();
    expect(await heard(responder, hellos(1))).toEqual(["You wrote: “Hello you”"]);
  });

  it("ids that were said are not said again: a call from the start gets one of the simulator's", async () => {
    const responder = responderOf(
      "moves: [{ repeat: 2, tools: [{ name: x, id: t<n> }, { name: y, id: same }] }]\nafter: repeat",
    );
    const ids = [];
    for (const request of hellos(4)) ids.push(blocksSaid(await delivered(responder, request)).map(idOf));
    expect(ids).toEqual([
      ["t1", "same"],
      ["t2", undefined],
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });

  it("a lost call comes again with its id", async () => {
    const responder = responderOf("moves: [{ tools: [{ name: x, id: t }] }]");
    (await played(responder, hello)).lost?.();
    expect(blocksSaid(await delivered(responder, hello)).map(idOf)).toEqual(["t"]);
  });

  it("a script that repeats but never says anything ends", async () => {
    expect(
      await heard(responderOf("moves: [{ when: { called: x }, do: [{ text: a }] }]\nafter: repeat"), hellos(2)),
    ).toEqual([expect.stringMatching(/is over/), expect.stringMatching(/is over/)]);
  });
});

describe("lanes", () => {
  const text = `
lanes:
  - { name: titles, when: { lastUser: title }, moves: [{ text: t1 }, { text: t2 }] }
  - { name: also titles, when: { lastUser: title }, moves: [{ text: never }] }
  - { name: progress, when: { lastUser: 3-5 words }, actor: extract }
moves: [{ text: a }, { text: b }]`;

  it("keep their own position; the first that fits answers, else the moves", async () => {
    const title = requestOf("A title, please");
    expect(await heard(responderOf(text), [title, hello, title, hello, title])).toEqual([
      "t1",
      "a",
      "t2",
      "b",
      "The scenario “titles” is over: it has no further reply.",
    ]);
  });

  it("can have a responder of the simulator", async () => {
    expect(await heard(responderOf(text), [requestOf("3-5 words")])).toEqual(["Thinking about the request"]);
  });

  it("give the adversary its modes, or the scenario's seed", async () => {
    expect(await heard(responderOf("responder: adversary\nmodes: [call-missing, empty]"), hellos(2))).toEqual([
      "Let me run the tests.",
      "",
    ]);
    const seeded = (seed: number): Promise<readonly string[]> =>
      heard(responderOf(`actor: adversary\nseed: ${seed}`), hellos(1));
    expect(await seeded(7)).toEqual(await seeded(7));
    const firsts = await Promise.all(Array.from({ length: 12 }, async (_, seed) => (await seeded(seed)).join("")));
    expect(new Set(firsts).size).toBeGreaterThan(1);
  });

  it("start anew with every responder of one scenario", async () => {
    const reading = parseScenario({ file: "s.yaml", text: `name: s\n${text}` });
    expect([await heard(responderFor(reading), hellos(1)), await heard(responderFor(reading), hellos(1))]).toEqual([
      ["a"],
      ["a"],
    ]);
  });
});

/** A client that runs tools: asks until a reply calls none, retries what was lost. */
async function session(
  responder: Responder,
  options: { ask: string; run: (name: string, input: string) => string },
): Promise<readonly string[]> {
  const messages: object[] = [userSays(options.ask)];
  const log: string[] = [];
  for (let turn = 0; turn < 100; turn += 1) {
    const reply = await played(responder, requestOf(messages));
    if (reply.fault !== undefined) {
      log.push(`! ${reply.fault.kind}`);
      reply.faulted?.();
      reply.lost?.();
      continue;
    }
    reply.delivered?.();
    log.push(said(reply.move));
    const made = blocksSaid(reply.move).flatMap((block) => (block.type === "tool_use" ? [block] : []));
    if (made.length === 0) return log;
    messages.push(assistantSays(...made.map(({ name, input }, at) => calls(`t${turn}-${at}`, name, input))));
    const results = made.map(({ name, input }, at) => ({
      type: "tool_result",
      tool_use_id: `t${turn}-${at}`,
      content: options.run(name, JSON.stringify(input)),
    }));
    messages.push({ role: "user", content: results });
  }
  return log;
}

describe("examples", () => {
  const example = async (name: string): Promise<Responder> =>
    responderFor(await readScenario(`examples/scenarios/${name}.yaml`));

  it("failing-test.yaml repairs what fails and sees it pass", async () => {
    let edited = false;
    const run = (name: string): string => {
      if (name === "edit") edited = true;
      return name === "bash" && !edited ? "FAIL test/sum.test.ts" : "ok";
    };
    const responder = await example("failing-test");
    const log = await session(responder, { ask: "Fix the test", run });
    expect(log.map((line) => line.replaceAll(/\(\{.*?\}\)/g, ""))).toEqual([
      "thinking: The test itself says what is expected. First that, then the code. | Let me look at the test. | read | read",
      "Now I see it fail with my own eyes. | bash",
      "One is added too many. | edit",
      "bash",
      "All green.",
    ]);
    expect(said(await delivered(responder, requestOf("Answer with a <summary>.")))).toContain(
      "1. Primary Request and Intent",
    );
    expect(said(await delivered(responder, requestOf("Thanks")))).toBe("You wrote: “Thanks”");
  });

  it("failing-test.yaml leaves alone what passes", async () => {
    const log = await session(await example("failing-test"), { ask: "Fix the test", run: () => "ok" });
    expect(log.at(-1)).toBe("The test passes already; I leave everything as it is.");
  });

  it("long-session.yaml reads part after part, through faults", async () => {
    const log = await session(await example("long-session"), {
      ask: "Go",
      run: (_, input) => (input.includes("part-3.ts") ? "No such file" : "x".repeat(1000)),
    });
    expect(log.filter((line) => line.startsWith("Part"))).toHaveLength(21);
    expect(log[20]).toContain("src/part-19.ts");
    expect(log.slice(-5).map((line) => line.slice(0, 30))).toEqual([
      expect.stringContaining("Part 20 next"),
      "! overloaded",
      "! break",
      expect.stringContaining("thinking: They all share"),
      "Done.",
    ]);
  });

  it("thinking.yaml thinks before its words and between its calls", async () => {
    const log = await session(await example("thinking"), { ask: "Go", run: () => "ok" });
    expect(log).toEqual([
      'thinking: The file first. What it says decides about everything else. | Let me look. | read({"path":"README.md"})',
      'thinking: That is half of it. The list of files tells the rest. | redacted_thinking: Something that only the server can read again. | bash({"command":"ls"})',
      "thinking: Answer number 1. It follows from what I read. | This is answer 1.",
    ]);
  });

  it("counting.ts makes its moves, and stands in docs/scenarios.md as it is", async () => {
    const responder = responderFor(await readScenario("examples/scenarios/counting.ts"));
    expect(await heard(responder, [hello, withResult("x")])).toEqual(["That was message 1.", "That was message 3."]);
    expect(await readFile("docs/scenarios.md", "utf8")).toContain(
      await readFile("examples/scenarios/counting.ts", "utf8"),
    );
    expect(responder.name).toBe(counting.name);
  });

  it("the example of docs/scenarios.md does what the page says", async () => {
    const page = await readFile("docs/scenarios.md", "utf8");
    const text = /```yaml\n(# Complete example.*?)```/s.exec(page)?.[1] ?? "";
    const responder = responderFor(parseScenario({ file: "docs/scenarios.md", text }));
    const log = await session(responder, { ask: "Go", run: (name) => (name === "bash" ? "2 tests FAIL" : "ok") });
    const told = /```text\n(.*?)```/s.exec(page)?.[1]?.trim().split("\n");
    expect(log).toEqual(told);
  });
});

describe("walk", () => {
  const hello = requestOf("Hello you");

  function responderOf(text: string): Responder {
    const reading = parseScenario({ file: "s.yaml", text: `name: s\n${text}` });
    if (reading.kind !== "scenario") throw new Error(reading.problems.map(({ what }) => what).join("\n"));
    return scriptResponder(reading.scenario);
  }

  describe("long ways", () => {
    it("a hundred thousand faults go with the next move", async () => {
      const responder = responderOf("moves: [{ repeat: 100000, fault: [overloaded, reset] }, { text: a }]");
      expect((await played(responder, hello)).fault?.kind).toBe("overloaded");
    });

    it("a branch asks a request once, however often it is repeated", async () => {
      const responder = responderOf(
        "moves: [{ repeat: 100000, when: { anyText: b }, do: [{ text: b }] }, { text: a }]",
      );
      const long = requestOf("a".repeat(1_000_000));
      expect(said(await delivered(responder, long))).toBe("a");
    });

    it("who gets no move in a million steps is refused, and the next goes on from there", async () => {
      const never = "{ repeat: 100000, when: { called: x }, do: [{ text: b }] }";
      const responder = responderOf(`moves: [${`${never}, `.repeat(25)} { text: a }]`);
      const { move } = await played(responder, hello);
      expect(move).toMatchObject({
        kind: "refuse",
        refusal: { type: "api_error", message: "the scenario has no move among its next 1000000 steps" },
      });
      expect((await played(responder, hello)).move.kind).toBe("refuse");
      expect(said(await delivered(responder, hello))).toBe("a");
    });
  });
});
