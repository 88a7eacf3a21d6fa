import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { z } from "zod";
import type { Workspace } from "../host/workspace.ts";
import { loadInstructions, readInstruction } from "palimpsest/internal/memory/load-instructions";
import { hookSettingShape } from "palimpsest/internal/schema/hook";
import type { UntrustedPart } from "../settings/narrow-project-file.ts";
import { isInside } from "../tool/resolve-real-path.ts";
import { instructionPlace } from "./system-prompt/render-prefix.ts";

/** What a project would do if the user trusted it. */
export interface TrustRequest {
  /** The project's folder, a real path. */
  readonly root: string;
  readonly items: readonly TrustItem[];
}

export interface TrustItem {
  /**
   * `runs`: a program, without asking. `allows`: a rule or a mode. `sets`: any other setting. `imports`: one of the
   * user's own files.
   */
  readonly does: "runs" | "allows" | "sets" | "imports";
  /** The wording of the project. */
  readonly text: string;
  /** The file that holds it. */
  readonly from: string;
}

interface PendingTrustInput {
  readonly workspace: Pick<Workspace, "home" | "settings" | "allowRulePlace">;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The root of the working tree. */
  readonly root: string;
}

/**
 * Undefined if the user has answered already or if there is nothing to trust. The user is not asked about a folder that
 * holds the home folder either: a yes counts for everything below, so it would cover every future clone.
 */
export async function pendingTrust({
  workspace,
  env,
  cwd,
  root,
}: PendingTrustInput): Promise<TrustRequest | undefined> {
  const { trust, untrusted } = (await workspace.settings()).reading;
  const { root: folder } = await workspace.allowRulePlace();
  const home = await realpath(homedir()).catch(() => homedir());
  if (trust !== "unasked" || isInside(home, folder)) return undefined;
  const instructions = await loadInstructions(readInstruction, instructionPlace({ workspace, env, cwd, root, trust }));
  const items = [
    ...untrusted.flatMap(trustItems),
    ...instructions.untrusted.map(({ path, importedBy }): TrustItem => ({
      does: "imports",
      text: path,
      from: importedBy ?? path,
    })),
  ];
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

const hookList = z.array(hookSettingShape);
const ruleList = z.array(z.string());
