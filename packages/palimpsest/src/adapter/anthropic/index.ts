export { type AnthropicOptions, type ContextHandle, withContext } from "./with-context.ts";
