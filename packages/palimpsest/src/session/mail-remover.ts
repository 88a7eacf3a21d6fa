import type { MailboxesDep } from "../ports/mailbox.ts";
import type { TaskLists } from "../ports/task-list.ts";
import { sessionAddress } from "../schema/agent-address.ts";
import type { MailboxAddress, SessionId } from "../schema/brand.ts";
import { plural } from "../text/format-count.ts";
import type { SessionRemover } from "./delete-sessions.ts";

/** Removes a deleted session's mailbox, and the mailboxes and tasks of its own agents. Teams outlive the session that made them. */
export function mailRemover({
  mailboxes,
  taskLists,
}: MailboxesDep & { readonly taskLists: TaskLists }): SessionRemover {
  const addresses = async (session: SessionId): Promise<readonly MailboxAddress[]> => {
    const own = sessionAddress(session);
    const known = await mailboxes.list();
    return [...known.filter((address) => address === own), ...(await mailboxes.list(session))];
  };
  return {
    name: "messages",
    describe: async (session) => {
      const { length } = await addresses(session);
      return length === 0 ? undefined : `${length} ${plural(length, "mailbox")}`;
    },
    remove: async (sessions) => {
      for (const session of sessions) {
        for (const address of await addresses(session)) {
          const outcome = await mailboxes.remove(address);
          if (outcome.kind === "failed") return outcome;
        }
        const failure = await taskLists.remove(session);
        if (failure !== undefined) return failure;
      }
      return undefined;
    },
  };
}
