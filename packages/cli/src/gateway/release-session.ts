import { z } from "zod";
import type { ReleaseOutcome } from "@palimpsest/gateway/internal/operate/gateway-state";
import { homeFolder } from "palimpsest/internal/store/files/project";
import type { CommandContext } from "../program/command.ts";
import { askGateway } from "../host/gateway/ask-gateway.ts";
import { findGateway } from "../host/gateway/gateway-place.ts";

/** Asks the gateway of this home to close a conversation. `not-open` also if no gateway runs: then another program has it. */
export async function releaseSession({ env }: Pick<CommandContext, "env">, session: string): Promise<ReleaseOutcome> {
  const found = await findGateway(homeFolder(env));
  if (found.kind !== "running") return "not-open";
  const path = `/palimpsest/release?session=${encodeURIComponent(session)}`;
  const answer = await askGateway({ ...found, path, method: "POST" });
  return answerForm.safeParse(answer?.value).data?.outcome ?? "not-open";
}

const answerForm = z.object({ outcome: z.enum(["released", "running", "not-open"]) });
