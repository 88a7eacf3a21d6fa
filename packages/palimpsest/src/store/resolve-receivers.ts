import type { EnvelopeDraft, SendOutcome } from "../ports/mailbox.ts";
import { type AgentAddress, formatAddress, parseAddress, parseReceiver, senderTeam } from "../schema/agent-address.ts";
import { agentMessageShape, countMessageChars } from "../schema/agent-message.ts";
import type { MailboxAddress } from "../schema/brand.ts";
import { envelopeIdCharsMax, messageCharsMax } from "../schema/limits.ts";
import { nearestName } from "../text/nearest-name.ts";
import { formatCount } from "../text/format-count.ts";

/** Who gets a message, or why nobody does. */
export type Receivers =
  | { readonly kind: "mailboxes"; readonly addresses: readonly MailboxAddress[]; readonly audience?: "all" }
  | { readonly kind: "socket"; readonly path: string }
  | Extract<SendOutcome, { readonly kind: "unknown-receiver" | "too-large" }>;

/** What a store knows of its mailboxes. */
interface Directory {
  has(address: MailboxAddress): Promise<boolean>;
  list(team: string): Promise<readonly MailboxAddress[]>;
}

/** The same for every store. */
export async function resolveReceivers(draft: EnvelopeDraft, directory: Directory): Promise<Receivers> {
  checkDraft(draft);
  const chars = countMessageChars(draft.body);
  if (chars > messageCharsMax) return tooLarge(chars);
  const receiver = parseReceiver(draft.to);
  const team = senderTeam(draft.from);
  switch (receiver.kind) {
    case "socket":
      return { kind: "socket", path: receiver.path };
    case "all": {
      const known = team === undefined ? [] : await directory.list(team);
      const others = known.filter((address) => address !== draft.from);
      if (others.length > 0) return { kind: "mailboxes", addresses: others, audience: "all" };
      return unknownReceiver(`${JSON.stringify(draft.from)} has no teammates yet.`);
    }
    case "name":
      if (team === undefined)
        return unknownReceiver(`${JSON.stringify(draft.to)} names a teammate, but the sender has no team.`);
      return findMailbox({ kind: "teammate", name: receiver.name, team }, directory);
    case "teammate":
    case "session":
      return findMailbox(receiver, directory);
    case "unreadable":
      return unknownReceiver(
        `${JSON.stringify(draft.to.slice(0, shownCharsMax))} is no address: use a teammate's name, *, bridge:<session> or uds:<path>.`,
      );
  }
}

async function findMailbox(
  address: Exclude<AgentAddress, { kind: "socket" }>,
  directory: Directory,
): Promise<Receivers> {
  const formatted = formatAddress(address);
  if (await directory.has(formatted)) return { kind: "mailboxes", addresses: [formatted] };
  if (address.kind === "session") return unknownReceiver(`No session ${address.session} has a mailbox in this home.`);
  const known = await directory.list(address.team);
  const names = known.flatMap((one) => teammateName(one) ?? []);
  const near = nearestName(address.name, names);
  const shown = names.slice(0, shownNamesMax).join(", ");
  const hint =
    near === undefined ? (names.length === 0 ? "It has no agents." : `It has ${shown}.`) : `Did you mean ${near}?`;
  return unknownReceiver(`There is no agent ${address.name} in the team ${address.team}. ${hint}`);
}

function teammateName(address: MailboxAddress): string | undefined {
  const parsed = parseAddress(address);
  return parsed?.kind === "teammate" ? parsed.name : undefined;
}

const unknownReceiver = (message: string): Receivers => ({ kind: "unknown-receiver", message });

const tooLarge = (chars: number): Receivers => ({
  kind: "too-large",
  message: `The message has ${formatCount(chars)} characters, and at most ${formatCount(messageCharsMax)} are allowed: write it to a file and send its path.`,
});

const shownNamesMax = 20;
const shownCharsMax = 100;

/** A bug of the caller: what comes from outside was parsed before. */
function checkDraft({ id, from, body }: EnvelopeDraft): void {
  if (id === "" || id.length > envelopeIdCharsMax) throw new TypeError("an envelope needs an id");
  if (parseAddress(from)?.kind === undefined) throw new TypeError(`not an address: ${from.slice(0, shownCharsMax)}`);
  agentMessageShape.parse(body);
}
