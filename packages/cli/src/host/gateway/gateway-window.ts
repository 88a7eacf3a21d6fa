import { readWindow } from "@palimpsest/gateway/internal/conversation/conversation-log";
import { conversationsPath } from "@palimpsest/gateway/internal/conversation/gateway-files";
import { homeFolder } from "palimpsest/internal/store/files/project";

/**
 * The window under which the gateway runs a session; its config may say less than what the model takes. Undefined if the
 * session is not one of the gateway's. Must not reject.
 */
export async function gatewayWindow(
  { env }: { readonly env: Readonly<Record<string, string | undefined>> },
  session: string | undefined,
): Promise<number | undefined> {
  if (session === undefined) return undefined;
  return await readWindow(conversationsPath(homeFolder(env)), session).catch(() => undefined);
}
