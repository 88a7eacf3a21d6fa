import { randomUUID } from "node:crypto";
import { fileMailboxes } from "palimpsest/internal/store/files/file-mailboxes";
import { homeMailFolder } from "palimpsest/internal/store/files/store";
import type { SendOutcome } from "palimpsest/internal/ports/mailbox";
import { sessionAddress, teammateAddress } from "palimpsest/internal/schema/agent-address";
import { envelopeId, millis } from "palimpsest/internal/schema/brand";
import { findOpenSessions } from "../host/open-sessions.ts";
import { deliverMail } from "./agent-mail.ts";
import { findAgent, findAgents, type ListedAgent } from "./find-agents.ts";

/** Whose words they are is unknown: every program of the user can call the command. */
const shellAddress = teammateAddress("agents-send", "palimpsest");
const shellSessionAddress = sessionAddress("palimpsest-agents-send");

type ShellSendOutcome =
  /** `stopped`: the receiver, if it is a member of a team that does not run. */
  | (Extract<SendOutcome, { kind: "sent" }> & { readonly id: string; readonly stopped?: ListedAgent | undefined })
  | Exclude<SendOutcome, { kind: "sent" }>;

/** `to`: an address, a member's name, a session's id or the beginning of one. Must not reject. */
export async function sendFromShell(
  { home }: { readonly home: string },
  { to, text }: { readonly to: string; readonly text: string },
): Promise<ShellSendOutcome> {
  const deps = { now: () => millis(Date.now()), uuid: randomUUID };
  const mailboxes = fileMailboxes({ deps, folder: homeMailFolder(home), durability: "turn" });
  const found = findAgent(await findAgents(home), to);
  if (found.kind === "ambiguous")
    return { kind: "unknown-receiver", message: `${to} may be ${found.candidates.join(" or ")}.` };
  if (found.kind === "missing" && !/[:@]/.test(to))
    return { kind: "unknown-receiver", message: `There is no agent ${to}.` };
  if (found.kind === "found" && found.agent.kind === "sub-agent")
    return { kind: "unknown-receiver", message: subAgentText(to, found.agent) };
  const address = found.kind === "found" ? found.agent.address : to;
  const id = envelopeId(randomUUID());
  const from = address.startsWith("uds:") ? shellSessionAddress : shellAddress;
  const openSessions = async () => (await findOpenSessions(home)).map((session) => session.id);
  const outcome = await deliverMail(
    { mailboxes, openSessions },
    { id, from, to: address, at: deps.now(), body: { type: "text", text } },
  );
  if (outcome.kind !== "sent") return outcome;
  const isStopped = found.kind === "found" && ["stopped", "died"].includes(found.agent.state);
  return { ...outcome, id, ...(isStopped ? { stopped: found.agent } : {}) };
}

const subAgentText = (to: string, { session = "", name = to }: ListedAgent): string =>
  `${to} runs inside session ${session}, which alone can write to it: use /agents ${name} in its chat, or tell the session (${sessionAddress(session)}) what it should pass on.`;
