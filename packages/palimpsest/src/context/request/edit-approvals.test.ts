import { describe, expect, it } from "vitest";
import { MadeConversation } from "../../../../../test/fixture/made-inventory.ts";
import { type StateWish, stateOf } from "../../../../../test/fixture/pipeline-state.ts";
import { say, user } from "../../../../../test/fixture/session.ts";
import { clearingWorld } from "../../../../../test/scenario/support/clearing-world.ts";
import type { Candidate, Layer } from "../../layers/layer.ts";
import { tokens } from "../../schema/brand.ts";
import type { LoopEvent, PlannedEdit } from "../../schema/loop-event.ts";
import { approvalRounds } from "../limits.ts";
import { type EditApproval, EditApprovals, isAnnounced, planEdit } from "./edit-approvals.ts";
import { runLayers } from "./run-layers.ts";

const dollar = 1e-6;
const million = { layer: "made-up", removesTokens: 1_000.4, behindTokens: 0, because: "it pays" };
const candidate = (figures: { readonly unforcedCost?: number }): Candidate => ({
  ...million,
  ...figures,
  results: [],
  run: () => expect.unreachable(),
});
const moment = { inputTokenUsd: dollar };

describe("an edit is planned", () => {
  it.each<[string, Candidate, StateWish, boolean, boolean]>([
    ["and announced at five cents", candidate({ unforcedCost: 50_000 }), { moment }, true, true],
    ["without being announced below", candidate({ unforcedCost: 49_999 }), { moment }, true, false],
    ["without being announced if the price is not known", candidate({ unforcedCost: 1e9 }), {}, true, false],
    ["not if it has to be made", candidate({}), { moment }, false, false],
    [
      "not if room is needed",
      candidate({ unforcedCost: 1e6 }),
      { moment: { ...moment, contextTokens: 167_000 } },
      false,
      false,
    ],
  ])("%s", (_, proposed, wish, isPlanned, isTold) => {
    const planned = planEdit(proposed, stateOf(new MadeConversation().says(), wish));
    expect(planned !== undefined).toBe(isPlanned);
    expect(planned !== undefined && isAnnounced(planned)).toBe(isTold);
  });

  it("with its reason, its tokens and its cost", () => {
    const state = stateOf(new MadeConversation().says(), { moment });
    expect(planEdit(candidate({ unforcedCost: 80_000 }), state)).toEqual({
      trigger: "made-up",
      because: "it pays",
      tokensSaved: 1_000,
      costNanos: 80_000_000,
    });
  });
});

describe("an answer about an edit", () => {
  it.each<[string, number, EditApproval | undefined]>([
    ["holds in the same round", 5, "not-now"],
    ["holds for some rounds", 5 + approvalRounds - 1, "not-now"],
    ["no longer holds after that", 5 + approvalRounds, undefined],
    ["no longer holds before it was given, after a rewind", 4, undefined],
  ])("%s", (_, round, approval) => {
    const approvals = new EditApprovals();
    approvals.decide("compact", { approval: "not-now", round: 5 });
    expect(approvals.find("compact", round)).toBe(approval);
    expect(approvals.find("clear.price", round)).toBeUndefined();
  });

  it("is over for good after a rewind, also when its round comes again", () => {
    const approvals = new EditApprovals();
    approvals.decide("compact", { approval: "not-now", round: 5 });
    expect(approvals.find("compact", 4)).toBeUndefined();
    expect(approvals.find("compact", 6)).toBeUndefined();
  });

  it("is over after a rewind also if its layer proposed nothing until its round came again", async () => {
    const agent = await clearingWorld().agent("create", { flags: [["policy", "none"]] });
    const { conversation, deps } = agent;
    const approvals = conversation.cache?.approvals;
    approvals?.decide("compact", { approval: "not-now", round: 5 });
    const { signal } = new AbortController();
    for await (const event of runLayers(deps, { conversation, opens: "turn", signal })) expect.unreachable(event.kind);
    expect(approvals?.find("compact", 6)).toBeUndefined();
  });

  it("is over when the edit is made", () => {
    const approvals = new EditApprovals();
    approvals.decide("compact", { approval: "yes", round: 5 });
    approvals.done("compact");
    expect(approvals.find("compact", 5)).toBeUndefined();
  });
});

/** Folds everything that was said into one line, at a price. `isForced`: it can't be declined. */
const foldLayer = (isForced: () => boolean): Layer => ({
  name: "fold",
  switches: ["collapse"],
  propose({ items }) {
    const [first, last] = [items[0], items.at(-1)];
    if (first === undefined || last === undefined || items.length < 2) return undefined;
    const draft = { type: "collapse", span: { from: first.entry, to: last.entry }, shown: "Said.", because: "it pays" };
    return {
      layer: "fold",
      removesTokens: 10,
      behindTokens: 0,
      ...(isForced() ? {} : { unforcedCost: 100_000 }),
      because: "it pays",
      edit: { draft, what: "fold", count: 2, nature: "summarised" },
    };
  },
});

/** Asks for a compaction, at a price. */
const compactLayer: Layer = {
  name: "compact",
  switches: ["compact.auto"],
  propose: () => ({
    layer: "compact",
    removesTokens: 10,
    behindTokens: 0,
    unforcedCost: 100_000,
    because: "it pays",
    results: [],
    run: (host) => host.compact({ cause: "price", because: "it pays" }),
  }),
};

const foldingAgent = async () => {
  let forced = false;
  return { ...(await agentWith(foldLayer(() => forced))), force: () => void (forced = true) };
};

async function agentWith(layer: Layer) {
  const agent = await clearingWorld().agent("create", { flags: [["policy", "none"]], parts: { layers: [layer] } });
  for (const text of ["One.", "Two."]) await say(agent.session, user(text));
  const asked: PlannedEdit[] = [];
  /** `stop`: aborted while the question is open. */
  const run = async (answer?: EditApproval, stop?: AbortController): Promise<readonly LoopEvent["kind"][]> => {
    const { signal } = stop ?? new AbortController();
    const approveEdit = async (edit: PlannedEdit): Promise<EditApproval> => {
      asked.push(edit);
      stop?.abort();
      return answer ?? "yes";
    };
    const deps = { ...agent.deps, ...(answer === undefined ? {} : { approveEdit }) };
    const kinds: LoopEvent["kind"][] = [];
    const { conversation } = agent;
    for await (const event of runLayers(deps, { conversation, opens: "turn", signal })) kinds.push(event.kind);
    return kinds;
  };
  return { run, asked };
}

describe("a dear edit that pays", () => {
  it("is announced before it is made, and made if there is no one to ask", async () => {
    const { run } = await foldingAgent();
    expect(await run()).toEqual(["edit-planned", "cleared"]);
  });

  it("is made after a yes", async () => {
    const { run, asked } = await foldingAgent();
    expect(await run("yes")).toEqual(["edit-planned", "cleared"]);
    expect(asked).toMatchObject([{ trigger: "fold", because: "it pays", tokensSaved: tokens(10) }]);
  });

  it("is left alone after “not now”, and neither announced nor asked about in the next request", async () => {
    const { run, asked } = await foldingAgent();
    expect(await run("not-now")).toEqual(["edit-planned"]);
    expect(await run("yes")).toEqual([]);
    expect(asked).toHaveLength(1);
  });

  it("is made after “not now” once it has to be, without a question", async () => {
    const { run, asked, force } = await foldingAgent();
    await run("not-now");
    force();
    expect(await run("not-now")).toEqual(["cleared"]);
    expect(asked).toHaveLength(1);
  });

  it("is asked about again if the turn was aborted", async () => {
    const { run, asked } = await foldingAgent();
    expect(await run("yes", new AbortController())).toEqual(["edit-planned"]);
    expect(await run("yes")).toEqual(["edit-planned", "cleared"]);
    expect(asked).toHaveLength(2);
  });

  it("is tried again without a question if its compaction failed", async () => {
    const { run, asked } = await agentWith(compactLayer);
    expect(await run("yes")).toEqual(["edit-planned"]);
    expect(await run("yes")).toEqual([]);
    expect(asked).toHaveLength(1);
  });
});
