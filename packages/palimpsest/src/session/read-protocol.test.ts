import { expect, it } from "vitest";
import { append, openedForTest, testDeps } from "../../../../test/fixture/session.ts";
import type { AgentMessage } from "../schema/agent-message.ts";
import { teammateAddress } from "../schema/agent-address.ts";
import { envelopeId, millis } from "../schema/brand.ts";
import { arrivedMessageDraft, readProtocol, sentMessageDraft } from "./read-protocol.ts";

const [ann, leader] = [teammateAddress("ann", "t"), teammateAddress("leader", "t")];

async function makeWorld() {
  const deps = testDeps();
  const session = await openedForTest(deps);
  const sent = async (message: AgentMessage) => {
    const draft = sentMessageDraft({ from: ann, to: leader, message });
    if (draft !== undefined) await append(session, draft);
  };
  const arrived = async (body: AgentMessage) =>
    append(
      session,
      arrivedMessageDraft({ id: envelopeId("m"), from: leader, to: ann, at: millis(1), sequence: 1, body }, "shown"),
    );
  const read = () => readProtocol(deps, { session: session.id, leader });
  return { session, sent, arrived, read };
}

it("is what was sent and received, in the order of the log", async () => {
  const { sent, arrived, read } = await makeWorld();
  await sent({ type: "plan_approval_request", requestId: "p", plan: "1. Look." });
  expect((await read()).plan).toBe("waiting");
  await arrived({ type: "plan_approval_response", requestId: "p", approve: true });
  await arrived({ type: "shutdown_request", requestId: "s" });
  expect(await read()).toMatchObject({ plan: "approved", phase: "working" });
  expect((await read()).askedById.has("s")).toBe(true);
  await sent({ type: "shutdown_response", requestId: "s", approve: true });
  expect((await read()).phase).toBe("stopping");
});

it("opens no request again when its record is repeated on another branch", async () => {
  const { session, sent, arrived, read } = await makeWorld();
  const request = { type: "plan_approval_request", requestId: "p", plan: "" } as const;
  await sent(request);
  await arrived({ type: "plan_approval_response", requestId: "p", approve: false, reason: "No." });
  const repeated = sentMessageDraft({ from: ann, to: leader, message: request });
  if (repeated === undefined) throw new Error("a request has a record");
  await append(session, { ...repeated, again: "e1" });
  expect(await read()).toMatchObject({ plan: "none", waitingById: new Map() });
});

it("keeps no plan in the log a second time, and nothing of plain words", async () => {
  const plan = sentMessageDraft({
    from: ann,
    to: leader,
    message: { type: "plan_approval_request", requestId: "p", plan: "long" },
  });
  expect(JSON.stringify(plan)).not.toContain("long");
  expect(sentMessageDraft({ from: ann, to: leader, message: { type: "text", text: "Hello." } })).toBeUndefined();
});
