import { describe, expect, it } from "vitest";
import { teammateAddress } from "./agent-address.ts";
import {
  type AgentMessage,
  agentMessageShape,
  type AgentProtocol,
  countMessageChars,
  newProtocol,
  receiveMessage,
  sendMessage,
} from "./agent-message.ts";

const leader = teammateAddress("lead", "t");
const mate = teammateAddress("mate", "t");
const other = teammateAddress("other", "t");

const shutdown: AgentMessage = { type: "shutdown_request", requestId: "r1" };
const plan: AgentMessage = { type: "plan_approval_request", requestId: "p1", plan: "1. read" };
const answerShutdown = (approve: boolean, reason?: string): AgentMessage => ({
  type: "shutdown_response",
  requestId: "r1",
  approve,
  ...(reason === undefined ? {} : { reason }),
});
const answerPlan = (approve: boolean, reason?: string): AgentMessage => ({
  type: "plan_approval_response",
  requestId: "p1",
  approve,
  ...(reason === undefined ? {} : { reason }),
});

type Move = readonly ["sends" | "gets", AgentMessage, typeof leader];

/** All moves of one agent; the last one is the outcome. */
function play(self: typeof leader, moves: readonly Move[]): string {
  let protocol: AgentProtocol = newProtocol;
  let outcome = "";
  for (const [direction, message, peer] of moves) {
    const step = (direction === "sends" ? sendMessage : receiveMessage)(protocol, { message, self, peer, leader });
    outcome = step.kind === "next" ? "next" : step.why;
    if (step.kind === "next") protocol = step.protocol;
  }
  const open = `${protocol.askedById.size} asked, ${protocol.waitingById.size} waiting`;
  return `${outcome}: ${protocol.phase}, plan ${protocol.plan}, ${open}`;
}

describe("a shutdown", () => {
  it.each<readonly [string, readonly Move[], string]>([
    ["is asked for", [["gets", shutdown, leader]], "next: working, plan none, 1 asked, 0 waiting"],
    [
      "is approved",
      [
        ["gets", shutdown, leader],
        ["sends", answerShutdown(true), leader],
      ],
      "next: stopping, plan none, 0 asked, 0 waiting",
    ],
    [
      "is refused with a reason",
      [
        ["gets", shutdown, leader],
        ["sends", answerShutdown(false, "tests still run"), leader],
      ],
      "next: working, plan none, 0 asked, 0 waiting",
    ],
    [
      "is not refused without one",
      [
        ["gets", shutdown, leader],
        ["sends", answerShutdown(false, " "), leader],
      ],
      "needs-a-reason: working, plan none, 1 asked, 0 waiting",
    ],
    [
      "is not approved to another agent",
      [
        ["gets", shutdown, leader],
        ["sends", answerShutdown(true), other],
      ],
      "not-asked: working, plan none, 1 asked, 0 waiting",
    ],
    [
      "is not approved unasked",
      [["sends", answerShutdown(true), leader]],
      "not-asked: working, plan none, 0 asked, 0 waiting",
    ],
    [
      "is answered once",
      [
        ["gets", shutdown, leader],
        ["sends", answerShutdown(true), leader],
        ["sends", answerShutdown(true), leader],
      ],
      "not-asked: stopping, plan none, 0 asked, 0 waiting",
    ],
    [
      "is asked for once by the same request",
      [
        ["gets", shutdown, leader],
        ["gets", shutdown, other],
      ],
      "already-asked: working, plan none, 1 asked, 0 waiting",
    ],
    [
      "ends the agent's own requests",
      [
        ["gets", shutdown, leader],
        ["sends", answerShutdown(true), leader],
        ["sends", plan, leader],
      ],
      "stopping: stopping, plan none, 0 asked, 0 waiting",
    ],
    [
      "ends assignments",
      [
        ["gets", shutdown, leader],
        ["sends", answerShutdown(true), leader],
        ["sends", { type: "task_assignment", taskId: "1", subject: "x" }, other],
      ],
      "stopping: stopping, plan none, 0 asked, 0 waiting",
    ],
    [
      "leaves it its voice",
      [
        ["gets", shutdown, leader],
        ["sends", answerShutdown(true), leader],
        ["sends", { type: "text", text: "bye" }, other],
      ],
      "next: stopping, plan none, 0 asked, 0 waiting",
    ],
    ["is not asked of oneself", [["sends", shutdown, mate]], "to-itself: working, plan none, 0 asked, 0 waiting"],
    [
      "waits for an answer",
      [
        ["sends", shutdown, other],
        ["sends", shutdown, other],
      ],
      "already-waiting: working, plan none, 0 asked, 1 waiting",
    ],
    [
      "is answered by the agent that was asked",
      [
        ["sends", shutdown, other],
        ["gets", answerShutdown(true), leader],
      ],
      "not-asked: working, plan none, 0 asked, 1 waiting",
    ],
    [
      "ends with its answer",
      [
        ["sends", shutdown, other],
        ["gets", answerShutdown(true), other],
      ],
      "next: working, plan none, 0 asked, 0 waiting",
    ],
  ])("%s", (_, moves, outcome) => expect(play(mate, moves)).toBe(outcome));
});

describe("a plan of a teammate", () => {
  it.each<readonly [string, readonly Move[], string]>([
    ["goes to the leader", [["sends", plan, leader]], "next: working, plan waiting, 0 asked, 1 waiting"],
    ["goes to nobody else", [["sends", plan, other]], "not-the-leader: working, plan none, 0 asked, 0 waiting"],
    [
      "is approved by the leader",
      [
        ["sends", plan, leader],
        ["gets", answerPlan(true), leader],
      ],
      "next: working, plan approved, 0 asked, 0 waiting",
    ],
    [
      "is approved by nobody else",
      [
        ["sends", plan, leader],
        ["gets", answerPlan(true), other],
      ],
      "not-the-leader: working, plan waiting, 0 asked, 1 waiting",
    ],
    [
      "is not approved before it was shown",
      [["gets", answerPlan(true), leader]],
      "not-asked: working, plan none, 0 asked, 0 waiting",
    ],
    [
      "is made again after a refusal",
      [
        ["sends", plan, leader],
        ["gets", answerPlan(false, "too broad"), leader],
        ["sends", { ...plan, requestId: "p2" }, leader],
      ],
      "next: working, plan waiting, 0 asked, 1 waiting",
    ],
    [
      "is one at a time",
      [
        ["sends", plan, leader],
        ["sends", { ...plan, requestId: "p2" }, leader],
      ],
      "already-waiting: working, plan waiting, 0 asked, 1 waiting",
    ],
    [
      "is not approved twice by one answer",
      [
        ["sends", plan, leader],
        ["gets", answerPlan(false, "no"), leader],
        ["gets", answerPlan(true), leader],
      ],
      "not-asked: working, plan none, 0 asked, 0 waiting",
    ],
    [
      "is nobody's to judge but the leader's",
      [["gets", plan, other]],
      "not-the-leader: working, plan none, 0 asked, 0 waiting",
    ],
  ])("%s", (_, moves, outcome) => expect(play(mate, moves)).toBe(outcome));

  it("is judged by the leader, once and with a reason if it is refused", () => {
    const asked: Move = ["gets", plan, mate];
    expect(play(leader, [asked, ["sends", answerPlan(true), mate]])).toMatch(/^next: .* 0 asked/);
    expect(play(leader, [asked, ["sends", answerPlan(true), other]])).toMatch(/^not-asked/);
    expect(play(leader, [asked, ["sends", answerPlan(false), mate]])).toMatch(/^needs-a-reason/);
    expect(play(leader, [asked, ["sends", answerPlan(false, "no"), mate]])).toMatch(/^next/);
  });

  it("can't be approved in a team without a leader", () => {
    const participants = { self: mate, peer: leader, leader: undefined };
    expect(sendMessage(newProtocol, { message: plan, ...participants })).toMatchObject({ why: "not-the-leader" });
    const answer = receiveMessage(newProtocol, { message: answerPlan(true), ...participants });
    expect(answer).toMatchObject({ why: "not-the-leader" });
  });
});

it("an answer to a shutdown does not answer a plan with the same id", () => {
  const asked: AgentMessage = { type: "plan_approval_request", requestId: "r1", plan: "" };
  expect(
    play(mate, [
      ["sends", asked, leader],
      ["gets", answerShutdown(true), leader],
    ]),
  ).toMatch(/^not-asked/);
});

it("messages of other shapes are none", () => {
  for (const value of [
    { type: "text" },
    { type: "shutdown_response", requestId: "r" },
    { type: "idle_notice", why: "bored" },
    { type: "shutdown_request", requestId: "" },
    "text",
  ])
    expect(agentMessageShape.safeParse(value).success).toBe(false);
  expect(countMessageChars({ type: "text", text: "abc", summary: "de" })).toBe(5);
});
