import { z } from "zod";
import type { ReleaseOutcome } from "@palimpsest/gateway/internal/operate/gateway-state";
import { homeFolder } from "palimpsest/internal/store/files/project";
import type { CommandContext } from "../program/command.ts";
import { askGateway } from "./ask-gateway.ts";
import { findGateway } from "./gateway-place.ts";

/** Asks the gateway of this home to close a conversation. Also `not-open` if no gateway is running: then another program has the session. */
export async function releaseSession({ env }: Pick<CommandContext, "env">, session: string): Promise<ReleaseOutcome> {
  const found = await findGateway(homeFolder(env));
  if (found.kind !== "running") return "not-open";
  const path = `/palimpsest/release?session=${encodeURIComponent(session)}`;
  const answer = await askGateway({ ...found, path, method: "POST" });
  return answerForm.safeParse(answer?.value).data?.outcome ?? "not-open";
}

const answerForm = z.object({ outcome: z.enum(["released", "running", "not-open"]) });
