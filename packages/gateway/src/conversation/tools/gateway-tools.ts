import type { Context } from "palimpsest/internal/context/context";
import type { Provider } from "palimpsest/internal/context/provider-formats";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { GatewayCall } from "../../reply/relay.ts";

type GatewayToolName = (typeof gatewayToolNames)[number];

/** A tool that the gateway offers and answers within the client's request: the client never sees its calls. */
export interface GatewayTool {
  /** In the format of the Messages API. It never changes within a conversation: it is part of the cached prefix. */
  readonly definition: { readonly name: GatewayToolName; readonly description: string; readonly input_schema: object };
  /** Must not reject: what goes wrong is told to the model. */
  answer<P extends Provider>(context: Context<P>, input: JsonObject): Promise<string | readonly ToolReference[]>;
}

/** In a result: the model gets the definition of a deferred tool. */
export interface ToolReference {
  readonly type: "tool_reference";
  readonly tool_name: string;
}

/** Of all such tools, switched on or not. */
export const gatewayToolNames = ["recall", "memory", "find_tools"] as const;

/** The result of a call of ours. */
export interface GatewayResult {
  readonly id: string;
  readonly content: string | readonly ToolReference[];
  readonly isError: boolean;
}

/** Each call gets a result, or every later request would be refused. */
export async function answerGatewayCalls<P extends Provider>(
  context: Context<P>,
  { tools, calls }: { readonly tools: readonly GatewayTool[]; readonly calls: readonly GatewayCall[] },
): Promise<readonly GatewayResult[]> {
  const results: GatewayResult[] = [];
  for (const { id, name, input, flawed } of calls) {
    const tool = tools.find(({ definition }) => definition.name === name);
    const isFailed = flawed !== undefined || tool === undefined;
    const content = isFailed ? (flawed ?? `There is no tool ${name}.`) : await tool.answer(context, input);
    results.push({ id, content, isError: isFailed });
  }
  return results;
}
