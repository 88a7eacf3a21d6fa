import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { z } from "zod";
import type { AgentDefinition } from "palimpsest/internal/layers/7-agents/agent-definition";
import type { Workspace } from "../host/workspace.ts";
import { hookSettingShape } from "palimpsest/internal/schema/hook";
import type { UntrustedPart } from "../settings/narrow-project-file.ts";
import { isInside } from "../tool/resolve-real-path.ts";
import { findDefinitions } from "./agents/find-definitions.ts";

/** What a project would do if the user trusted it. */
export interface TrustRequest {
  /** The project's folder, a real path. */
  readonly root: string;
  readonly items: readonly TrustItem[];
}

export interface TrustItem {
  /** `runs`: a program, without asking. `allows`: a rule or a mode. `sets`: any other setting. */
  readonly does: "runs" | "allows" | "sets";
  /** The wording of the project. */
  readonly text: string;
  /** The file that holds it. */
  readonly from: string;
}

interface PendingTrustInput {
  readonly workspace: Pick<Workspace, "home" | "settings" | "allowRulePlace">;
}

/**
 * Undefined if the user has answered already or if there is nothing to trust. The user is not asked about a folder that
 * holds the home folder either: a yes counts for everything below, so it would cover every future clone.
 */
export async function pendingTrust({ workspace }: PendingTrustInput): Promise<TrustRequest | undefined> {
  const { trust, untrusted } = (await workspace.settings()).reading;
  const { root: folder } = await workspace.allowRulePlace();
  const home = await realpath(homedir()).catch(() => homedir());
  if (trust !== "unasked" || isInside(home, folder)) return undefined;
  const agents = await findDefinitions({ root: folder, home: workspace.home, env: {}, trust });
  const items = [...untrusted.flatMap(trustItems), ...agents.untrusted.flatMap(agentItems)];
  return items.length === 0 ? undefined : { root: folder, items };
}

function trustItems({ key, value, from }: UntrustedPart): readonly TrustItem[] {
  switch (key) {
    case "hooks":
      return hookList
        .parse(value)
        .map(({ event, command }) => ({ does: "runs", text: `${command} (at ${event})`, from }));
    case "statusLine":
      return [{ does: "runs", text: `${String(value)} (for the lines below the editor)`, from }];
    case "permissions.allow":
      return ruleList.parse(value).map((text) => ({ does: "allows", text, from }));
    case "permissions.defaultMode":
      return [{ does: "allows", text: `what the mode ${String(value)} allows`, from }];
    default:
      return [{ does: "sets", text: `${key}: ${JSON.stringify(value)}`, from }];
  }
}

const agentItems = ({ name, description, source }: AgentDefinition): readonly TrustItem[] =>
  source.kind === "built-in" ? [] : [{ does: "sets", text: `agent ${name}: ${description}`, from: source.path }];

const hookList = z.array(hookSettingShape);
const ruleList = z.array(z.string());
